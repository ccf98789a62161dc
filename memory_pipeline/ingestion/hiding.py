"""Memories that a person has taken out: out of the store's results, and kept out whatever a re-run words anew.

A hidden memory is moved whole into memory-meta: no search, list or later step has to know of it. What an engine
proposes later is compared with it by the turns it cites, the quotes it rests on, and its wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memory_pipeline.distillation.contract import Draft
from memory_pipeline.distillation.duplicates import near_duplicate
from memory_pipeline.documents import Meta, Summary, Turn
from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.stores.contract import MemoryStore

PREFIX = "hidden:"
OVERLAP = 0.5
"""Quotes overlap where so much of the shorter one, in words and in one piece, stands in the other."""
REASON = "a person has hidden it"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A memory as it was when it was hidden. ``copy_keys``: what names its turns' words in any session that holds
    them; ``beside``: the wordings of the memories that its turn kept, so that they are not taken for it.
    """

    memory: Summary
    hidden_at: str
    copy_keys: tuple[str, ...]
    beside: tuple[str, ...]

    def is_of(self, turn: Turn) -> bool:
        """Whether it rests on this turn, or on a copy of it."""
        cited = {ref.turn_id for ref in self.memory.source_refs}
        return turn.turn_id in cited or (turn.copy_key != "" and turn.copy_key in self.copy_keys)

    def is_of_session(self, session_id: str) -> bool:
        return any(ref.session_id == session_id for ref in self.memory.source_refs)


def hide(memory_id: str, *, store: MemoryStore, now: str) -> Hidden:
    """Take a memory out. InputError where the id is no memory's."""
    memory = next(iter(store.get(Summary, [memory_id])), None)
    if memory is None:
        if find_hidden(memory_id, store) is not None:
            raise InputError(f"{memory_id} is hidden already; `memory-pipeline hide --list` lists what is.")
        raise InputError(f"No memory has the id {memory_id}; `memory-pipeline search` and `export` print ids.")
    home = memory.source_refs[0].turn_id
    others = store.scan(Summary, {"source_refs.turn_id": home})
    turns = store.get(Turn, sorted({ref.turn_id for ref in memory.source_refs}))
    hidden = Hidden(
        memory.model_copy(update={"summary_embedding": None, "embedding_model": None}),
        hidden_at=now,
        copy_keys=tuple(sorted({turn.copy_key for turn in turns} - {""})),
        beside=tuple(other.summary for other in others if other.doc_id != memory_id),
    )
    for refused in store.upsert(Meta, [_note(hidden)]).refused:
        raise StoreError(f"That {memory_id} is hidden was not stored: {refused.field} {refused.reason}.")
    store.delete(Summary, {"doc_id": memory_id})
    return hidden


def unhide(memory_id: str, *, store: MemoryStore) -> Hidden:
    """Put a hidden memory back; its vector is made by the next run. InputError where it is not hidden."""
    hidden = find_hidden(memory_id, store)
    if hidden is None:
        raise InputError(f"{memory_id} is not hidden; `memory-pipeline hide --list` lists what is.")
    for refused in store.upsert(Summary, [hidden.memory]).refused:
        raise StoreError(f"Memory {memory_id} was not stored: {refused.field} {refused.reason}.")
    store.delete(Meta, {"doc_id": PREFIX + memory_id})
    return hidden


def find_hidden(memory_id: str, store: MemoryStore) -> Hidden | None:
    return next((_read(note) for note in store.get(Meta, [PREFIX + memory_id])), None)


def all_hidden(store: MemoryStore) -> list[Hidden]:
    """Every hidden memory, the latest first."""
    notes = [_read(note) for note in store.scan(Meta) if note.doc_id.startswith(PREFIX)]
    return sorted(notes, key=lambda hidden: (hidden.hidden_at, hidden.memory.doc_id), reverse=True)


def without_hidden(drafts: Iterable[Draft], turn: Turn, hidden: Sequence[Hidden]) -> tuple[list[Draft], list[str]]:
    """The drafts that nobody has hidden, and a reason for each of the others."""
    near = [note for note in hidden if note.is_of(turn) or note.is_of_session(turn.session_id)]
    kept: list[Draft] = []
    reasons: list[str] = []
    for draft in drafts:
        if any(_says_again(draft, note, turn) for note in near):
            reasons.append(REASON)
        else:
            kept.append(draft)
    return kept, reasons


def _says_again(draft: Draft, note: Hidden, turn: Turn) -> bool:
    if near_duplicate(draft.summary, {note.memory.doc_id: note.memory.summary}) is not None:
        return True
    if not note.is_of(turn) or near_duplicate(draft.summary, dict(_keyed(note.beside))) is not None:
        return False
    return any(quotes_overlap(quote, old) for quote in draft.evidence for old in note.memory.evidence)


def _keyed(texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(str(place), text) for place, text in enumerate(texts)]


def quotes_overlap(one: str, other: str) -> bool:
    """Whether two quotes share a stretch of words that is most of the shorter one."""
    a, b = one.lower().split(), other.lower().split()
    shorter = min(len(a), len(b))
    if not shorter:
        return False
    shared = SequenceMatcher(None, a, b, autojunk=False).find_longest_match()
    return shared.size >= max(1.0, OVERLAP * shorter)


def _note(hidden: Hidden) -> Meta:
    return Meta(
        doc_id=PREFIX + hidden.memory.doc_id,
        value={
            "memory": hidden.memory.model_dump(mode="json", exclude={"summary_embedding", "embedding_model"}),
            "hidden_at": hidden.hidden_at,
            "copy_keys": list(hidden.copy_keys),
            "beside": list(hidden.beside),
        },
    )


def _read(note: Meta) -> Hidden:
    value = note.value
    return Hidden(
        Summary.model_validate(value["memory"]), value["hidden_at"], tuple(value["copy_keys"]), tuple(value["beside"])
    )
