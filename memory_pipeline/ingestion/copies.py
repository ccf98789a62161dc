"""Turns that several sessions hold: a fork repeats its parent's lines. Which of them is distilled, and who is cited.

Of equal turns the first is distilled: one on an active path before an abandoned one, then the one whose session is
oldest. The others point to it by ``copy_of``, as their messages do to its messages, and its memories cite the messages
of all. Whatever comes first, the end is the same: where an older session comes in later, the memories move to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from memory_pipeline.batches import batched
from memory_pipeline.documents import (
    FINISHED,
    DistillationState,
    RawMessage,
    SessionManifest,
    SourceRef,
    Summary,
    Turn,
)
from memory_pipeline.errors import StoreError
from memory_pipeline.ingestion.citations import citing, home
from memory_pipeline.stores.contract import Exclude, MemoryStore

_BATCH = 200  # keys looked up at a time


def settle_copies(keys: Collection[str], *, store: MemoryStore, left: Collection[str] = ()) -> int:
    """Settle who is whose copy among the turns with these copy keys; returns how many turns are copies.

    ``left``: those of the keys that some turn had and has no longer, so that nobody cites it any more.
    """
    copies = 0
    for batch in batched(sorted({*keys, *left} - {""}), _BATCH):
        for key, count in sorted(store.group_count(Turn, "copy_key", {"copy_key": batch}).items()):
            if count > 1 or key in left:
                copies += count - 1
                _settle(_oldest_first(list(store.scan(Turn, {"copy_key": key})), store), store)
    return copies


def release_copies(turns: Iterable[Turn], *, store: MemoryStore) -> None:
    """Let the messages of turns that are copies no longer point to nobody's."""
    for turn in turns:
        _mark(_messages(turn, store), (), store)
        if turn.turn_index == 0:
            _mark(_opening(turn, store), (), store)


def _oldest_first(turns: Sequence[Turn], store: MemoryStore) -> list[Turn]:
    manifests = store.get(SessionManifest, sorted({turn.session_id for turn in turns}))
    born = {manifest.doc_id: manifest.header.timestamp or manifest.started_at for manifest in manifests}
    return sorted(
        turns,
        key=lambda turn: (not turn.on_active_path, born.get(turn.session_id, ""), turn.session_id, turn.turn_index),
    )


def _settle(turns: Sequence[Turn], store: MemoryStore) -> None:
    """Make the first of these turns the one that is distilled. What is new is written before what it replaces goes."""
    first, copies = turns[0], turns[1:]
    messages = {turn.turn_id: _messages(turn, store) for turn in turns}
    # What was said of a turn as an abandoned one (nothing) does not hold for a copy that is none.
    peers = [turn for turn in turns if turn.on_active_path == first.on_active_path]
    done = next((turn for turn in peers if turn.distillation.state in FINISHED), None)
    kept: list[str] = []
    if done is not None:
        moved = [_moved(memory, turns, messages, store) for memory in _memories_of(done, store)]
        moved += [
            citing(memory, _everywhere(memory, turns, messages), instead_of=messages.keys(), store=store)
            for memory in _memories_of_others(turns, store)
        ]
        kept = [memory.doc_id for memory in moved]
        for refused in store.upsert(Summary, moved).refused:
            raise StoreError(f"Memory {refused.doc_id} was not stored: {refused.field} {refused.reason}.")
    state = (done or first).distillation
    settled = [first.model_copy(update={"distillation": state, "copy_of": None})]
    settled += [
        copy.model_copy(update={"distillation": DistillationState(), "copy_of": first.turn_id}) for copy in copies
    ]
    store.upsert(Turn, settled)
    if done is not None:
        for turn in turns:
            store.delete(Summary, {"source_refs.turn_id": turn.turn_id, "doc_id": Exclude(tuple(kept))})
    _mark(messages[first.turn_id], (), store)
    for copy in copies:
        _mark(messages[copy.turn_id], messages[first.turn_id], store)
        if copy.turn_index == 0 and copy.session_id != first.session_id:
            _mark(_opening(copy, store), _opening(first, store), store)  # what stands before the first turn came along


def _memories_of(turn: Turn, store: MemoryStore) -> list[Summary]:
    found = store.scan(Summary, {"source_refs.turn_id": turn.turn_id}, vectors=True)
    return [memory for memory in found if memory.source_refs[0].turn_id == turn.turn_id]


def _memories_of_others(turns: Sequence[Turn], store: MemoryStore) -> list[Summary]:
    """Memories of other turns of a session, which these turns said again."""
    group = [turn.turn_id for turn in turns]
    found = store.scan(Summary, {"source_refs.turn_id": group}, vectors=True)
    return [memory for memory in found if home(memory) not in group]


def _moved(
    memory: Summary, turns: Sequence[Turn], messages: Mapping[str, Sequence[RawMessage]], store: MemoryStore
) -> Summary:
    """The memory as one of the first turn's, citing what it cites in each of the turns; ``messages`` by turn id."""
    to = turns[0]
    refs = _everywhere(memory, turns, messages)
    return memory.model_copy(
        update={
            "doc_id": Summary.make_id(to.session_id, to.turn_id, memory.summary),
            "source_refs": refs + _said_again(memory, messages.keys(), store) if refs else memory.source_refs,
            "project": to.project,
            "origin": to.origin,
        }
    )


def _said_again(memory: Summary, group: Collection[str], store: MemoryStore) -> list[SourceRef]:
    """References to other turns of its session and to copies of those; turns that are copies no longer stay out."""
    further = [ref for ref in memory.source_refs if ref.turn_id not in group]
    copies = {t.turn_id for t in store.get(Turn, sorted({ref.turn_id for ref in further})) if t.copy_of is not None}
    at_home = memory.source_refs[0].session_id
    return [ref for ref in further if ref.session_id == at_home or ref.turn_id in copies]


def _everywhere(
    memory: Summary, turns: Sequence[Turn], messages: Mapping[str, Sequence[RawMessage]]
) -> list[SourceRef]:
    """References to what the memory cites in any of the turns, in each of them."""
    known = {message.doc_id: place for told in messages.values() for place, message in _placed(told)}
    places = [known[ref.doc_id] for ref in memory.source_refs if ref.doc_id in known]
    refs: list[SourceRef] = []
    for turn in turns:
        there = dict(_placed(messages[turn.turn_id]))
        for place in dict.fromkeys(places):
            if (found := there.get(place)) is not None:
                refs.append(SourceRef(session_id=turn.session_id, turn_id=turn.turn_id, doc_id=found.doc_id))
    return refs


_Place = tuple[str, str, str, int]


def _placed(messages: Iterable[RawMessage]) -> list[tuple[_Place, RawMessage]]:
    """Each message with what names it in every copy: when it was said, by whom, what, and the how manieth such."""
    seen: dict[tuple[str, str, str], int] = defaultdict(int)
    placed: list[tuple[_Place, RawMessage]] = []
    for message in messages:
        what = (message.message_timestamp, message.role, message.content_sha256)
        placed.append(((*what, seen[what]), message))
        seen[what] += 1
    return placed


def _mark(copies: Sequence[RawMessage], originals: Sequence[RawMessage], store: MemoryStore) -> None:
    """Let each message point to the one it is a copy of, or to none."""
    wanted = {place: message.doc_id for place, message in _placed(originals)}
    changed = [
        message.model_copy(update={"copy_of": wanted.get(place)})
        for place, message in _placed(copies)
        if message.copy_of != wanted.get(place)
    ]
    store.upsert(RawMessage, changed)


def _messages(turn: Turn, store: MemoryStore) -> list[RawMessage]:
    where = {"session_id": turn.session_id, "turn_id": turn.turn_id}
    return list(store.scan(RawMessage, where, order=("message_index",)))


def _opening(turn: Turn, store: MemoryStore) -> list[RawMessage]:
    """What stands before a session's first turn."""
    where = {"session_id": turn.session_id, "turn_id": Turn.make_id(turn.session_id, -1)}
    return list(store.scan(RawMessage, where, order=("message_index",)))
