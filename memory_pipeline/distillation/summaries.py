"""Turns into fingerprints, drafts into documents."""

from __future__ import annotations

from memory_pipeline.distillation.contract import DistillationEngine, Draft
from memory_pipeline.documents import DistillationState, SourceRef, Summary, Turn, digest


def turn_fingerprint(turn: Turn, engine: DistillationEngine) -> str:
    """What an outcome depends on: the turn's text and place, the engine, its prompt and its model.

    Nothing of the session is in it, so the same turn in a fork has the same one. May raise what ``engine.model`` does.
    """
    return _fingerprint(turn, engine.name, engine.prompt_version, engine.model)


def known_fingerprint(turn: Turn, state: DistillationState) -> str | None:
    """The fingerprint that the turn would have had, had it been distilled as its state says; None if it never was."""
    if state.fingerprint is None:
        return None
    return _fingerprint(turn, state.engine or "", state.prompt_version or "", state.model or "")


def _fingerprint(turn: Turn, engine: str, prompt_version: str, model: str) -> str:
    place = "active" if turn.on_active_path else "abandoned"
    return digest(turn.fingerprint, turn.text, place, engine, prompt_version, model)


def to_summary(draft: Draft, turn: Turn, *, model: str, prompt_version: str, summarized_at: str) -> Summary:
    """The document of a draft; its event time, project and origin are the turn's."""
    refs = [SourceRef(session_id=turn.session_id, turn_id=turn.turn_id, doc_id=cited) for cited in draft.cites]
    return Summary(
        doc_id=Summary.make_id(turn.session_id, turn.turn_id, draft.summary),
        summary=draft.summary,
        tags=list(draft.tags),
        source_refs=refs,
        established_at=turn.started_at,
        summarized_at=summarized_at,
        model=model,
        project=turn.project,
        origin=turn.origin,
        evidence=list(draft.evidence),
        language=draft.language or turn.language,
        trust=draft.trust,
        prompt_version=prompt_version,
    )
