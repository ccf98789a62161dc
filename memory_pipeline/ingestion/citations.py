"""Which turns' messages a memory cites, and how that changes when a turn is done again.

The first reference is the memory's home: the turn that it is a memory of. Further ones are the same words in copies of
that turn (forks), and turns of the same session that said the same again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memory_pipeline.documents import SourceRef, Summary, Turn
from memory_pipeline.stores.contract import MemoryStore


def home(memory: Summary) -> str:
    """Id of the turn that it is a memory of."""
    return memory.source_refs[0].turn_id


def with_copies(turn: Turn, store: MemoryStore) -> frozenset[str]:
    """Ids of the turn and of the turns that are copies of the same words."""
    if not turn.copy_key:
        return frozenset({turn.turn_id})
    return frozenset(twin.turn_id for twin in store.scan(Turn, {"copy_key": turn.copy_key})) | {turn.turn_id}


def citing(memory: Summary, refs: Iterable[SourceRef], *, instead_of: Collection[str], store: MemoryStore) -> Summary:
    """The memory with ``refs`` in place of those into the turns ``instead_of`` (ids).

    The home's references and those of its copies keep their places; the rest is ordered, so that it is the same
    whatever came first.
    """
    first = home(memory)
    turns = store.get(Turn, [first])
    at_home = with_copies(turns[0], store) if turns else frozenset({first})
    kept = [ref for ref in memory.source_refs if ref.turn_id not in instead_of]
    front = [ref for ref in kept if ref.turn_id in at_home]
    rest = {_place(ref): ref for ref in (*kept, *refs) if ref.turn_id not in at_home}
    return memory.model_copy(update={"source_refs": front + [rest[place] for place in sorted(rest)]})


def _place(ref: SourceRef) -> tuple[str, int, int]:
    return ref.session_id, _number(ref.turn_id), _number(ref.doc_id or "")


def _number(doc_id: str) -> int:
    """The number an id ends with: a turn's within its session, a message's within its turn."""
    last = doc_id.rpartition("_")[2]
    return int(last) if last.lstrip("-").isdigit() else -1
