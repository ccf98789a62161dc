"""The turns of one session into memories, and memories into vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from memory_pipeline.batches import batched
from memory_pipeline.distillation import (
    DistillationEngine,
    SessionDistiller,
)
from memory_pipeline.documents import FINISHED, DistillationState, Summary, Turn
from memory_pipeline.errors import EmbeddingMismatch, ModelOutage
from memory_pipeline.ingestion.asking import Answered, answers, messages_of
from memory_pipeline.ingestion.copies import settle_copies
from memory_pipeline.ingestion.progress import Budget, Failed, Progress
from memory_pipeline.ingestion.remembering import remember
from memory_pipeline.models.contract import Embedder
from memory_pipeline.stores.contract import MemoryStore, SelfEmbedding

OUTAGES_IN_A_ROW = 3  # then the server is taken to be down, and the rest is left for next time
EMBEDDING_BATCH = 64


@dataclass(slots=True)
class Distilled:
    """What distilling came to, in turns but for ``memories`` (documents written), ``messages``, tokens and ``seconds``
    inside the engine; messages, tokens and seconds are of turns that the engine was asked about.
    """

    turns: int = 0
    unchanged: int = 0
    reused: int = 0
    left: int = 0
    memories: int = 0
    states: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    messages: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


def needs_distilling(turn: Turn, budget: Budget) -> bool:
    """New, changed and failed turns, and finished ones that the budget names.

    Another prompt or model alone is no reason: that would redo everything, at the price of hours.
    """
    if turn.copy_of is not None or turn.turn_id in budget.tried:
        return False
    return turn.distillation.state not in FINISHED or turn.turn_id in (budget.redo or ())


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
    distiller = engine.session()
    due = _due(session_id, store=store, engine=engine, distiller=distiller, budget=budget, done=done)
    for answered in answers(due, store=store, engine=engine, distiller=distiller):
        outcome = answered.outcome
        _count(answered, done, budget)
        remembered = remember(answered.turn, outcome, _state(answered, engine), store=store, now=now)
        if remembered is None:
            done.left += 1
            continue
        settle_copies([answered.turn.copy_key], store=store)
        state = remembered.state
        done.turns += 1
        done.memories += remembered.written
        done.states[state.state] = done.states.get(state.state, 0) + 1
        progress.advance("distil")
        progress.expect("embed", remembered.written)
        if state.error is not None and state.state not in FINISHED:
            done.problems.append(f"turn {answered.turn.turn_id}: {state.state}: {state.error}")
            progress.note(done.problems[-1])
            budget.failed.append(Failed(state.error, outcome.server_at_fault))
        budget.outages = budget.outages + 1 if outcome.server_at_fault else 0
        if budget.outages >= OUTAGES_IN_A_ROW:
            raise ModelOutage(
                f"{(outcome.error or outcome.state).rstrip('.')}, {budget.outages} turns in a row; check LLAMA_URL, "
                "LLAMA_MODEL and LLAMA_API_KEY with memory-pipeline doctor."
            )
    return done


def _due(
    session_id: str,
    *,
    store: MemoryStore,
    engine: DistillationEngine,
    distiller: SessionDistiller,
    budget: Budget,
    done: Distilled,
) -> Iterator[Turn]:
    """The turns to distil, as far as the budget goes; the engine takes note of those in between."""
    for turn in list(store.scan(Turn, {"session_id": session_id}, order=("turn_index",))):
        if not needs_distilling(turn, budget):
            done.unchanged += 1
            if engine.keeps_state:
                distiller.observe(turn, messages_of(store, turn))
        elif budget.fresh_only and turn.distillation.state not in (*FINISHED, "pending"):
            continue
        elif budget.spend(turn.turn_id):
            yield turn
        else:
            done.left += 1
            budget.left.add(session_id)


def _count(answered: Answered, done: Distilled, budget: Budget) -> None:
    """Add what the answer cost."""
    done.reused += answered.reused
    for counts in (done, budget.used):
        asked = not answered.reused and answered.outcome.state != "own"
        counts.messages += answered.turn.message_count if asked else 0
        counts.prompt_tokens += answered.outcome.prompt_tokens
        counts.completion_tokens += answered.outcome.completion_tokens
        counts.seconds += answered.seconds


def _state(answered: Answered, engine: DistillationEngine) -> DistillationState:
    outcome = answered.outcome
    return DistillationState(
        state=outcome.state,
        fingerprint=answered.fingerprint,
        engine=engine.name,
        prompt_version=engine.prompt_version,
        model=engine.model,
        attempts=answered.turn.distillation.attempts + 1,
        error=outcome.error,
        memories=len(outcome.drafts),
        dropped=list(outcome.dropped),
        parts=outcome.parts,
        cut_chars=outcome.cut_chars,
        prompt_tokens=outcome.prompt_tokens,
        completion_tokens=outcome.completion_tokens,
        seconds=round(answered.seconds, 3),
    )


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
    for batch in batched(without_vector(session_id, store), EMBEDDING_BATCH):
        started = time.perf_counter()
        texts = {summary.doc_id: text_to_embed(summary) for summary in batch}
        if isinstance(store, SelfEmbedding):
            result = store.put_texts(Summary, texts, model=embedder.model, dimensions=embedder.dimensions)
            done.seconds += time.perf_counter() - started
        else:
            vectors = embedder.embed(list(texts.values()))
            done.seconds += time.perf_counter() - started
            result = store.put_vectors(Summary, dict(zip(texts, vectors, strict=True)), model=embedder.model)
        done.memories += result.written
        for refused in result.refused:
            if refused.field == Summary.vector_field:  # a memory that is gone by now needs none
                raise EmbeddingMismatch(
                    f"A vector of {embedder.model} was not stored: it {refused.reason}. Set the embedding model back, "
                    "or make all vectors anew: memory-pipeline run --reembed"
                )
        progress.advance("embed", len(batch))
    return done


def without_vector(session_id: str, store: MemoryStore) -> list[Summary]:
    """The session's memories that wait for a vector."""
    where = {"source_refs.session_id": session_id, "embedding_model": None}
    return list(store.scan(Summary, where, order=("doc_id",)))


def text_to_embed(summary: Summary) -> str:
    """A memory as it is embedded: its project's name before it (measured: leaving it out costs recall)."""
    name = summary.project.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return f"{name}: {summary.summary}" if name else summary.summary
