"""Memories of one session that say the same hang together: one document, which cites the turns of all.

It is a memory of the earliest of them. A turn that is done again takes its own citations from the memories of others,
and leaves memories of its own, which it no longer yields, to the next turn that said the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memory_pipeline.distillation.duplicates import near_duplicate
from memory_pipeline.documents import SourceRef, Summary, Turn
from memory_pipeline.ingestion.citations import citing, home, with_copies
from memory_pipeline.stores.contract import MemoryStore


@dataclass(slots=True)
class Changes:
    """Memories to write, by id, and ids of those that go after that."""

    write: dict[str, Summary] = field(default_factory=dict)
    remove: list[str] = field(default_factory=list)


def changes_of(turn: Turn, proposed: Mapping[str, Summary], store: MemoryStore) -> Changes:
    """What the turn's memories, as proposed (by id), change in the store; nothing is written yet."""
    group = with_copies(turn, store)
    cited = {memory.doc_id: memory for memory in store.scan(Summary, {"source_refs.turn_id": turn.turn_id})}
    own = {key: memory for key, memory in cited.items() if home(memory) in group}
    earlier, later = _around(turn, group, store) if proposed else ({}, {})
    fresh, repeated = _apart(proposed, earlier)
    changes = Changes()
    for key in dict.fromkeys((*(key for key in cited if key not in own), *repeated)):
        old = cited.get(key) or earlier[key]
        memory = citing(old, repeated.get(key, ()), instead_of=group, store=store)
        if memory != old:
            changes.write[key] = memory
    for key, memory in (own | later).items():
        further = [ref for ref in memory.source_refs if ref.turn_id not in group]
        heir = key if key in fresh else _twin(memory.summary, fresh)
        if heir is not None:
            fresh[heir] = citing(fresh[heir], further, instead_of=(), store=store)
        elif key in own and further:
            changes.write |= _moved(memory, further, store)
        if key not in fresh and (key in own or heir is not None):
            changes.write.pop(key, None)
            changes.remove.append(key)
    changes.write |= {k: m for k, m in fresh.items() if not _same_but_for_the_clock(m, own.get(k))}
    return changes


def _around(turn: Turn, group: Collection[str], store: MemoryStore) -> tuple[dict[str, Summary], dict[str, Summary]]:
    """The session's memories of the turns before this one, and of those after it."""
    earlier: dict[str, Summary] = {}
    later: dict[str, Summary] = {}
    here = (turn.started_at, turn.turn_index)
    for memory in store.scan(Summary, {"source_refs.session_id": turn.session_id}, order=("established_at",)):
        if home(memory) not in group:
            there = (memory.established_at, int(home(memory).rpartition("_")[2]))
            (earlier if there < here else later)[memory.doc_id] = memory
    return earlier, later


def _apart(
    proposed: Mapping[str, Summary], earlier: Mapping[str, Summary]
) -> tuple[dict[str, Summary], dict[str, list[SourceRef]]]:
    """The proposed memories that are new, and what the others add to the citations of those that they repeat."""
    fresh: dict[str, Summary] = {}
    repeated: dict[str, list[SourceRef]] = {}
    for key, memory in proposed.items():
        if (twin := _twin(memory.summary, fresh)) is not None:
            refs = {ref.doc_id: ref for ref in (*fresh[twin].source_refs, *memory.source_refs)}
            fresh[twin] = fresh[twin].model_copy(update={"source_refs": list(refs.values())})
        elif (twin := _twin(memory.summary, earlier)) is not None:
            repeated.setdefault(twin, []).extend(memory.source_refs)
        else:
            fresh[key] = memory
    return fresh, repeated


def _twin(summary: str, memories: Mapping[str, Summary]) -> str | None:
    return near_duplicate(summary, {key: memory.summary for key, memory in memories.items()}) if memories else None


def _moved(memory: Summary, refs: Sequence[SourceRef], store: MemoryStore) -> dict[str, Summary]:
    """A memory whose turn no longer yields it, by its new id as one of the next turn that said the same."""
    turns = {turn.turn_id: turn for turn in store.get(Turn, list(dict.fromkeys(ref.turn_id for ref in refs)))}
    turn = next((turn for turn in turns.values() if turn.copy_of is None), None)
    if turn is None:
        return {}
    moved = memory.model_copy(
        update={
            "doc_id": Summary.make_id(turn.session_id, turn.turn_id, memory.summary),
            "source_refs": _first(refs, turn),
            "established_at": turn.started_at,
            "project": turn.project,
            "origin": turn.origin,
        }
    )
    return {moved.doc_id: moved}


def _first(refs: Iterable[SourceRef], turn: Turn) -> list[SourceRef]:
    """The references, those to this turn before the others."""
    return sorted(refs, key=lambda ref: ref.turn_id != turn.turn_id)


def _same_but_for_the_clock(new: Summary, old: Summary | None) -> bool:
    if old is None:
        return False
    clock = {
        "summarized_at": old.summarized_at,
        "summary_embedding": old.summary_embedding,
        "embedding_model": old.embedding_model,
    }
    return new.model_copy(update=clock) == old
