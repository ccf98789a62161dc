"""Asks an engine about turns: several at a time where it takes them, and not at all where the answer is known."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from memory_pipeline.distillation import (
    DistillationEngine,
    Draft,
    Mention,
    Outcome,
    SessionDistiller,
    is_own_session,
    turn_fingerprint,
)
from memory_pipeline.documents import FINISHED, RawMessage, Summary, Turn
from memory_pipeline.errors import ModelOutage
from memory_pipeline.ingestion.remembering import mentions_of
from memory_pipeline.stores.contract import MemoryStore


@dataclass(frozen=True, slots=True)
class Answered:
    """What an engine made of one turn; ``seconds`` inside it."""

    turn: Turn
    outcome: Outcome
    fingerprint: str
    seconds: float
    reused: bool


def answers(
    due: Iterable[Turn], *, store: MemoryStore, engine: DistillationEngine, distiller: SessionDistiller
) -> Iterator[Answered]:
    """Ask about the turns of one session, as many at a time as the engine takes; answers come in order.

    Of the pipeline's own calls no engine is asked. Only the calling thread uses the store.
    """
    begins_as_own = cache(lambda session_id: is_own_session(_opening(store, session_id)))

    def ask(turn: Turn, messages: Sequence[RawMessage], fingerprint: str) -> Answered:
        started = time.perf_counter()
        try:
            outcome = distiller.distill(turn, messages)
        except ModelOutage as error:
            outcome = Outcome("outage", error=str(error), server_at_fault=True)
        return Answered(turn, outcome, fingerprint, time.perf_counter() - started, reused=False)

    def prepare(turn: Turn) -> Callable[[], Answered]:
        fingerprint = turn_fingerprint(turn, engine)
        messages = messages_of(store, turn)
        if is_own_session(messages) or begins_as_own(turn.session_id):
            own = Answered(turn, Outcome("own"), fingerprint, 0.0, reused=False)
            return lambda: own
        known = None if engine.keeps_state else _known_answer(store, messages, fingerprint)
        if known is not None:
            answered = Answered(turn, known, fingerprint, 0.0, reused=True)
            return lambda: answered
        return lambda: ask(turn, messages, fingerprint)

    if engine.keeps_state or engine.parallel == 1:
        yield from (prepare(turn)() for turn in due)
        return
    at_work: deque[Future[Answered]] = deque()
    with ThreadPoolExecutor(engine.parallel, thread_name_prefix="distil") as pool:
        try:
            for turn in due:
                at_work.append(pool.submit(prepare(turn)))
                if len(at_work) == engine.parallel:
                    yield at_work.popleft().result()
            while at_work:
                yield at_work.popleft().result()
        finally:
            for future in at_work:
                future.cancel()


def messages_of(store: MemoryStore, turn: Turn) -> list[RawMessage]:
    return list(
        store.scan(RawMessage, {"session_id": turn.session_id, "turn_id": turn.turn_id}, order=("message_index",))
    )


def _opening(store: MemoryStore, session_id: str) -> list[RawMessage]:
    """What a session begins with: its system prompt, and its first message of a user."""
    return [
        *store.scan(RawMessage, {"session_id": session_id, "turn_index": -1}, order=("message_index",)),
        *store.scan(RawMessage, {"session_id": session_id, "turn_index": 0}, order=("message_index",), limit=1),
    ]


def _known_answer(store: MemoryStore, messages: Sequence[RawMessage], fingerprint: str) -> Outcome | None:
    """The answer that the same text got elsewhere from the same model and prompt, citing this turn's messages.

    None where it can't be told whole: a memory of it hangs on another turn, or cites what does not stand here.
    """
    twin = next(
        iter(store.scan(Turn, {"distillation.fingerprint": fingerprint, "distillation.state": FINISHED}, limit=1)), None
    )
    if twin is None:
        return None
    here = {(m.role, m.content_sha256): m.doc_id for m in reversed(messages)}
    there = {m.doc_id: (m.role, m.content_sha256) for m in messages_of(store, twin)}

    def cites(doc_ids: Iterable[str]) -> tuple[str, ...]:
        found = [here.get(there.get(doc_id, ("", ""))) for doc_id in doc_ids]
        return tuple(cite for cite in found if cite is not None)

    drafts: list[Draft] = []
    for summary in store.scan(Summary, {"source_refs.turn_id": twin.turn_id}):
        cited = [ref.doc_id or "" for ref in summary.source_refs if ref.turn_id == twin.turn_id]
        found = cites(cited)
        if summary.source_refs[0].turn_id != twin.turn_id or not found or len(found) < len(cited):
            return None
        drafts.append(
            Draft(
                summary.summary,
                tuple(summary.tags),
                found,
                summary.trust,
                evidence=tuple(summary.evidence),
                language=summary.language,
            )
        )
    if len(drafts) != twin.distillation.memories:
        return None
    mentions = tuple(
        Mention(str(m["name"]), str(m["type"]), str(m["description"]), cites(m["cites"]))
        for m in mentions_of(twin, store)
    )
    return Outcome("stored" if drafts else "none", drafts=tuple(drafts), mentions=mentions)
