"""A session's stored messages into turns: what is known of a turn stays with it while it says the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from memory_pipeline.batches import batched_by
from memory_pipeline.distillation import known_fingerprint
from memory_pipeline.documents import DistillationState, RawMessage, Turn
from memory_pipeline.ingestion.copies import release_copies, settle_copies
from memory_pipeline.redaction import is_redacted
from memory_pipeline.sessions import group_turns
from memory_pipeline.stores.contract import MemoryStore, Refused

_BATCH, _BATCH_CHARS = 200, 2_000_000


@dataclass(slots=True)
class Grouped:
    """What became of a session's turns, in documents."""

    written: int = 0
    unchanged: int = 0
    copies: int = 0
    refused: list[Refused] = field(default_factory=list)


def group_session(session_id: str, *, store: MemoryStore, repaired: Collection[str] = ()) -> Grouped:
    """Write the turns of a session. One whose text is new or changed waits to be distilled, unless it has changed by
    redaction only: as those among the ``repaired`` (turn ids) have, and what a repair that was stopped has left.
    """
    done = Grouped()
    keys: set[str] = set()
    left: set[str] = set()
    found = group_turns(stored_messages(session_id, store))
    for batch in batched_by(found, _BATCH, lambda turn: len(turn.text), _BATCH_CHARS):
        stored = {turn.doc_id: turn for turn in store.get(Turn, [turn.doc_id for turn in batch])}
        turns = [_with_state(turn, stored.get(turn.doc_id), repaired=turn.doc_id in repaired) for turn in batch]
        keys.update(turn.copy_key for turn in turns)
        changed = [turn for turn in turns if turn.doc_id in stored and stored[turn.doc_id].copy_key != turn.copy_key]
        left.update(stored[turn.doc_id].copy_key for turn in changed)
        release_copies((turn for turn in changed if stored[turn.doc_id].copy_of), store=store)
        result = store.upsert(Turn, turns)
        done.written += result.written
        done.unchanged += result.unchanged
        done.refused.extend(result.refused)
    done.copies = settle_copies(keys, left=left, store=store)
    return done


def stored_messages(session_id: str, store: MemoryStore) -> Iterator[RawMessage]:
    """The messages of a session, turn by turn."""
    return store.scan(RawMessage, {"session_id": session_id}, order=("turn_index", "message_index"))


def _with_state(turn: Turn, old: Turn | None, *, repaired: bool) -> Turn:
    if old is None:
        return turn
    state = DistillationState()
    if old.on_active_path == turn.on_active_path:
        if old.fingerprint == turn.fingerprint:
            state = old.distillation
        elif old.message_count == turn.message_count and (repaired or is_redacted(old.text, turn.text)):
            state = old.distillation.model_copy(update={"fingerprint": known_fingerprint(turn, old.distillation)})
    copy_of = old.copy_of if old.copy_key == turn.copy_key else None
    return turn.model_copy(update={"distillation": state, "copy_of": copy_of})
