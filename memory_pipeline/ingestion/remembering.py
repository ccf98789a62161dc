"""What a turn came to, into the store: its memories, what it names, its state.

New memories are written before stale ones go, and the turn is marked last: a crash at any point leaves old or new,
and doing the turn again ends the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memory_pipeline.distillation import Draft, Mention, Outcome, to_summary
from memory_pipeline.documents import FINISHED, DistillationState, Mentions, SourceRef, Summary, Turn
from memory_pipeline.errors import StoreError
from memory_pipeline.ingestion.hiding import all_hidden, without_hidden
from memory_pipeline.ingestion.joining import changes_of
from memory_pipeline.stores.contract import MemoryStore


@dataclass(frozen=True, slots=True)
class Remembered:
    """The turn's state as it was stored, and how many documents of memories were written."""

    state: DistillationState
    written: int = 0


def remember(
    turn: Turn, outcome: Outcome, state: DistillationState, *, store: MemoryStore, now: Callable[[], str]
) -> Remembered | None:
    """Store the outcome. None where the turn has changed since it was read: it waits anew.

    An outcome that is none (an outage, an answer that could not be used) changes no memory.
    """
    if _has_changed(turn, store):
        return None
    written = 0
    if outcome.state in FINISHED:
        drafts, hidden = without_hidden(outcome.drafts, turn, all_hidden(store) if outcome.drafts else ())
        if hidden:
            kept = {"state": "stored" if drafts else "none", "memories": len(drafts)}
            state = state.model_copy(update={**kept, "dropped": [*state.dropped, *hidden]})
        changes = changes_of(turn, _documents(drafts, turn, state, now()), store)
        result = store.upsert(Summary, changes.write.values())
        written = result.written
        if result.refused:
            reasons = "; ".join(f"{r.field} {r.reason}" for r in result.refused)
            state = state.model_copy(update={"state": "invalid", "error": f"not stored: {reasons}"})
        else:
            if changes.remove:
                store.delete(Summary, {"doc_id": changes.remove})
            _store_mentions(turn, outcome.mentions, store)
    for refused in store.upsert(Turn, [turn.model_copy(update={"distillation": state})]).refused:
        raise StoreError(f"The state of turn {refused.doc_id} was not stored: {refused.field} {refused.reason}.")
    return Remembered(state, written)


def mentions_of(turn: Turn, store: MemoryStore) -> list[dict[str, Any]]:
    """What the session's mentions hold of one turn."""
    for stored in store.get(Mentions, [turn.session_id]):
        return [mention for mention in stored.mentions if mention["turn_id"] == turn.turn_id]
    return []


def _has_changed(turn: Turn, store: MemoryStore) -> bool:
    return any(
        (current.fingerprint, current.on_active_path, current.copy_of)
        != (turn.fingerprint, turn.on_active_path, turn.copy_of)
        for current in store.get(Turn, [turn.doc_id])
    )


def _documents(drafts: Iterable[Draft], turn: Turn, state: DistillationState, now: str) -> dict[str, Summary]:
    made = {"model": state.model or "", "prompt_version": state.prompt_version or "", "summarized_at": now}
    documents = [to_summary(draft, turn, **made) for draft in drafts]
    return {document.doc_id: document for document in documents}


def _store_mentions(turn: Turn, mentions: Sequence[Mention], store: MemoryStore) -> None:
    """Put what the turn names in the place of what it named before, in the session's document."""
    stored = next(iter(store.get(Mentions, [turn.session_id])), None)
    if stored is None and not mentions:
        return
    kept = [m for m in (stored.mentions if stored else ()) if m["turn_id"] != turn.turn_id]
    new = [
        {
            "turn_id": turn.turn_id,
            "turn_index": turn.turn_index,
            "name": mention.name,
            "type": mention.type,
            "description": mention.description,
            "cites": list(mention.cites),
        }
        for mention in mentions
    ]
    every = sorted([*kept, *new], key=lambda mention: int(mention["turn_index"]))
    if not every:
        store.delete(Mentions, {"doc_id": turn.session_id})
        return
    refs = {
        cite: SourceRef(session_id=turn.session_id, turn_id=mention["turn_id"], doc_id=cite)
        for mention in every
        for cite in mention["cites"]
    }
    document = Mentions(doc_id=turn.session_id, project=turn.project, source_refs=list(refs.values()), mentions=every)
    for refused in store.upsert(Mentions, [document]).refused:
        raise StoreError(f"The mentions of {refused.doc_id} were not stored: {refused.field} {refused.reason}.")
