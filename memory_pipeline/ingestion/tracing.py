"""From an id to what it stands for and the messages behind it."""

from __future__ import annotations

from dataclasses import dataclass

from memory_pipeline.documents import RawMessage, SessionManifest, Summary, Turn
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.hiding import find_hidden
from memory_pipeline.stores.contract import MemoryStore


@dataclass(frozen=True, slots=True)
class TracedMemory:
    """A memory and the messages it rests on, in order; ``missing`` ids are cited but not stored."""

    memory: Summary
    messages: tuple[RawMessage, ...]
    missing: tuple[str, ...]
    hidden_at: str | None = None


@dataclass(frozen=True, slots=True)
class TracedTurn:
    turn: Turn
    memories: tuple[Summary, ...]


@dataclass(frozen=True, slots=True)
class TracedSession:
    manifest: SessionManifest
    turns: tuple[TracedTurn, ...]


def trace(doc_id: str, store: MemoryStore) -> TracedMemory | TracedTurn | TracedSession | RawMessage:
    """What the id of a memory, a turn, a message or a session stands for. InputError where there is no such id."""
    for memory in store.get(Summary, [doc_id]):
        return _traced_memory(memory, store)
    if (hidden := find_hidden(doc_id, store)) is not None:
        return _traced_memory(hidden.memory, store, hidden.hidden_at)
    for turn in store.get(Turn, [doc_id]):
        return _traced(turn, store)
    for manifest in store.get(SessionManifest, [doc_id]):
        turns = store.scan(Turn, {"session_id": doc_id}, order=("turn_index",))
        return TracedSession(manifest, tuple(_traced(turn, store) for turn in turns))
    for message in store.get(RawMessage, [doc_id]):
        return message
    raise InputError(
        f"Nothing in the store has the id {doc_id}; `memory-pipeline search` and `memory-pipeline export` print ids."
    )


def _traced_memory(memory: Summary, store: MemoryStore, hidden_at: str | None = None) -> TracedMemory:
    cited = [ref.doc_id for ref in memory.source_refs if ref.doc_id]
    messages = store.get(RawMessage, cited)
    found = {message.doc_id for message in messages}
    return TracedMemory(memory, tuple(messages), tuple(cite for cite in cited if cite not in found), hidden_at)


def _traced(turn: Turn, store: MemoryStore) -> TracedTurn:
    return TracedTurn(turn, tuple(store.scan(Summary, {"source_refs.turn_id": turn.turn_id})))
