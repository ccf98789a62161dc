"""The turns of one session into memories, and memories into vectors.

A turn is marked done only after its memories are stored, and the memories it had before go only after that: a crash
at any point leaves the old ones or the new ones, and at worst one model call to be made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_pipeline.distillation import (
    DistillationEngine,
    Draft,
    Outcome,
    SessionDistiller,
    to_summary,
    turn_fingerprint,
)
from memory_pipeline.documents import FINISHED, DistillationState, RawMessage, Summary, Turn
from memory_pipeline.errors import EmbeddingMismatch, ModelOutage, StoreError
from memory_pipeline.ingestion.batches import batched
from memory_pipeline.ingestion.copies import settle_copies
from memory_pipeline.ingestion.progress import Budget, Failed, Progress
from memory_pipeline.models.contract import Embedder
from memory_pipeline.stores.contract import Exclude, MemoryStore

OUTAGES_IN_A_ROW = 3  # then the server is taken to be down, and the rest is left for next time
EMBEDDING_BATCH = 64


@dataclass(slots=True)
class Distilled:
    """What distilling came to, in turns but for ``memories`` (documents), tokens and ``seconds`` inside the engine."""

    turns: int = 0
    unchanged: int = 0
    reused: int = 0
    left: int = 0
    memories: int = 0
    states: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


def needs_distilling(turn: Turn, engine: DistillationEngine) -> bool:
    """New, changed and failed turns, and those that were only extracted before there was a model.

    Another prompt or model alone is no reason: that would redo everything, at the price of hours.
    """
    state = turn.distillation
    if state.state not in FINISHED:
        return True
    return state.engine == "extractive" and engine.name == "llm"


def distil_session(
    session_id: str,
    *,
    store: MemoryStore,
    engine: DistillationEngine,
    budget: Budget,
    progress: Progress,
    now: Callable[[], str],
) -> Distilled:
    """Distil what waits in one session, turn by turn in order, as far as the budget goes.

    Raises ModelOutage after several turns in a row, of whatever sessions, found no model; all that was done by then is
    stored.
    """
    done = Distilled()
    turns = list(store.scan(Turn, {"session_id": session_id}, order=("turn_index",)))
    distiller = engine.session()
    for turn in turns:
        if turn.copy_of is not None or turn.turn_id in budget.tried or not needs_distilling(turn, engine):
            done.unchanged += 1
            if engine.keeps_state:
                distiller.observe(turn, _messages(store, turn))
            continue
        if budget.fresh_only and turn.distillation.state not in (*FINISHED, "pending"):
            continue
        if not budget.spend(turn.turn_id):
            done.left += 1
            budget.left.add(session_id)
            continue
        outcome, state = _distil_turn(turn, store=store, engine=engine, distiller=distiller, done=done)
        if not _store_outcome(turn, outcome, state, store=store, now=now):
            done.left += 1
            continue
        settle_copies([turn.copy_key], store=store)
        done.turns += 1
        done.states[outcome.state] = done.states.get(outcome.state, 0) + 1
        progress.advance("distil")
        progress.expect("embed", len(outcome.drafts))
        if outcome.error is not None and outcome.state not in FINISHED:
            done.problems.append(f"turn {turn.turn_id}: {outcome.state}: {outcome.error}")
            progress.note(done.problems[-1])
            budget.failed.append(Failed(outcome.error, outcome.server_at_fault))
        budget.outages = budget.outages + 1 if outcome.server_at_fault else 0
        if budget.outages >= OUTAGES_IN_A_ROW:
            raise ModelOutage(
                f"{(outcome.error or outcome.state).rstrip('.')}, {budget.outages} turns in a row; check LLAMA_URL, "
                "LLAMA_MODEL and LLAMA_API_KEY with memory-pipeline doctor."
            )
    return done


@dataclass(slots=True)
class Embedded:
    """Memories that got a vector, and the seconds that the embedder took for them."""

    memories: int = 0
    seconds: float = 0.0


def embed_session(session_id: str, *, store: MemoryStore, embedder: Embedder, progress: Progress) -> Embedded:
    """Give each of the session's memories that has none a vector.

    Raises EmbeddingMismatch where they do not fit those stored, and what ``embedder`` raises.
    """
    done = Embedded()
    waiting = store.scan(Summary, {"source_refs.session_id": session_id, "embedding_model": None}, order=("doc_id",))
    for batch in batched(list(waiting), EMBEDDING_BATCH):
        started = time.perf_counter()
        vectors = embedder.embed([text_to_embed(summary) for summary in batch])
        done.seconds += time.perf_counter() - started
        ids = (summary.doc_id for summary in batch)
        result = store.put_vectors(Summary, dict(zip(ids, vectors, strict=True)), model=embedder.model)
        done.memories += result.written
        for refused in result.refused:
            if refused.field == Summary.vector_field:  # a memory that is gone by now needs none
                raise EmbeddingMismatch(
                    f"A vector of {embedder.model} was not stored: it {refused.reason}. Set the embedding model back, "
                    "or make all vectors anew: memory-pipeline run --reembed"
                )
        progress.advance("embed", len(batch))
    return done


def text_to_embed(summary: Summary) -> str:
    """A memory as it is embedded: its project's name before it (measured: leaving it out costs recall)."""
    name = summary.project.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return f"{name}: {summary.summary}" if name else summary.summary


def _distil_turn(
    turn: Turn, *, store: MemoryStore, engine: DistillationEngine, distiller: SessionDistiller, done: Distilled
) -> tuple[Outcome, DistillationState]:
    fingerprint = turn_fingerprint(turn, engine)
    messages = _messages(store, turn)
    started = time.perf_counter()
    outcome = None if engine.keeps_state else _known_answer(store, messages, fingerprint)
    if outcome is not None:
        done.reused += 1
    else:
        try:
            outcome = distiller.distill(turn, messages)
        except ModelOutage as error:
            outcome = Outcome("outage", error=str(error), server_at_fault=True)
    seconds = time.perf_counter() - started
    done.seconds += seconds
    done.prompt_tokens += outcome.prompt_tokens
    done.completion_tokens += outcome.completion_tokens
    done.memories += len(outcome.drafts)
    state = DistillationState(
        state=outcome.state,
        fingerprint=fingerprint,
        engine=engine.name,
        prompt_version=engine.prompt_version,
        model=engine.model,
        attempts=turn.distillation.attempts + 1,
        error=outcome.error,
        memories=len(outcome.drafts),
        dropped=list(outcome.dropped),
        parts=outcome.parts,
        cut_chars=outcome.cut_chars,
        prompt_tokens=outcome.prompt_tokens,
        completion_tokens=outcome.completion_tokens,
        seconds=round(seconds, 3),
    )
    return outcome, state


def _store_outcome(
    turn: Turn, outcome: Outcome, state: DistillationState, *, store: MemoryStore, now: Callable[[], str]
) -> bool:
    """New memories first, then the turn's stale ones go, then the turn is marked.

    False where the turn has changed since it was read: the session has grown meanwhile, and the turn waits anew.
    """
    for current in store.get(Turn, [turn.doc_id]):
        if (current.fingerprint, current.on_active_path, current.copy_of) != (
            turn.fingerprint,
            turn.on_active_path,
            turn.copy_of,
        ):
            return False
    if outcome.state in FINISHED:
        summaries = [
            to_summary(
                draft, turn, model=state.model or "", prompt_version=state.prompt_version or "", summarized_at=now()
            )
            for draft in outcome.drafts
        ]
        stored = {old.doc_id: old for old in store.get(Summary, [s.doc_id for s in summaries])}
        fresh = [s for s in summaries if not _same_but_for_the_clock(s, stored.get(s.doc_id))]
        result = store.upsert(Summary, fresh)
        if result.refused:
            reasons = "; ".join(f"{r.field} {r.reason}" for r in result.refused)
            state = state.model_copy(update={"state": "invalid", "error": f"not stored: {reasons}"})
        else:
            keep = Exclude(tuple(s.doc_id for s in summaries))
            store.delete(Summary, {"source_refs.turn_id": turn.turn_id, "doc_id": keep})
    for refused in store.upsert(Turn, [turn.model_copy(update={"distillation": state})]).refused:
        raise StoreError(f"The state of turn {refused.doc_id} was not stored: {refused.field} {refused.reason}.")
    return True


def _same_but_for_the_clock(new: Summary, old: Summary | None) -> bool:
    if old is None:
        return False
    clock = {
        "summarized_at": old.summarized_at,
        "summary_embedding": old.summary_embedding,
        "embedding_model": old.embedding_model,
    }
    return new.model_copy(update=clock) == old


def _messages(store: MemoryStore, turn: Turn) -> list[RawMessage]:
    return list(
        store.scan(RawMessage, {"session_id": turn.session_id, "turn_id": turn.turn_id}, order=("message_index",))
    )


def _known_answer(store: MemoryStore, messages: Sequence[RawMessage], fingerprint: str) -> Outcome | None:
    """The answer that the same text got elsewhere from the same model and prompt, citing this turn's messages."""
    twin = next(
        iter(
            store.scan(
                Turn,
                {"distillation.fingerprint": fingerprint, "distillation.state": FINISHED},
                limit=1,
            )
        ),
        None,
    )
    if twin is None:
        return None
    if twin.distillation.state == "none":
        return Outcome(state="none")
    here = {(m.role, m.content_sha256): m.doc_id for m in reversed(messages)}
    there = {m.doc_id: (m.role, m.content_sha256) for m in _messages(store, twin)}
    drafts: list[Draft] = []
    for summary in store.scan(Summary, {"source_refs.turn_id": twin.turn_id}):
        cites = [here.get(there.get(ref.doc_id or "", ("", ""))) for ref in summary.source_refs]
        found = tuple(cite for cite in cites if cite is not None)
        if not found or len(found) < len(cites):
            return None
        drafts.append(
            Draft(summary.summary, tuple(summary.tags), found, summary.trust, evidence=tuple(summary.evidence))
        )
    return Outcome(state="stored", drafts=tuple(drafts)) if drafts else None
