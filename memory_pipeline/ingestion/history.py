"""What the store holds of a session against what its file says now: a richer past wins, and keeps its place.

Writers of session files rewrite them: they migrate, drop turns, put placeholders where old text was. What was ingested
in full is not taken from, and what is new in a rewritten file comes in behind it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable

from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.sessions import is_evicted

_Place = tuple[int, int]
"""Turn index and message index."""


def is_same(old: RawMessage, new: RawMessage) -> bool:
    """Whether two messages of one place are one message, whatever became of its text."""
    if None not in (old.entry_id, new.entry_id) and old.entry_id != new.entry_id:
        return False
    return (old.role, old.kind, old.message_timestamp) == (new.role, new.kind, new.message_timestamp)


def is_poorer(old: RawMessage, new: RawMessage, *, reread: bool) -> bool:
    """Whether the file says less of a message than is stored: a placeholder, a cut text.

    A text that is shorter because secrets went is not poorer. ``reread``: another version of the reader reads it, which
    may well find fewer characters in the same bytes.
    """
    if is_evicted(new.content) and not is_evicted(old.content):
        return True
    return not reread and len(new.content) < len(old.content) and new.redactions <= old.redactions


class Places:
    """Gives the messages of a rewritten file, in file order, the places that they have among the stored ones.

    A message is recognised by its entry id, else by its speaker and its time and text, or one of the two. One that is
    not stored comes behind the stored ones of its turn, or in a new turn behind all.
    """

    def __init__(self, stored: Iterable[RawMessage]) -> None:
        self._found: dict[Hashable, deque[_Place]] = defaultdict(deque)
        self._next: dict[int, int] = {-1: 0}
        self._taken: set[_Place] = set()
        self._turns: dict[int, int] = {-1: -1}
        for message in stored:
            place = (message.turn_index, message.message_index)
            for name in _names(message):
                self._found[name].append(place)
            self._next[message.turn_index] = max(self._next.get(message.turn_index, 0), message.message_index + 1)

    @property
    def taken(self) -> int:
        """How many stored messages were recognised so far."""
        return len(self._taken)

    def place(self, message: RawMessage) -> RawMessage:
        """The message with the ids of its place."""
        turn_index, message_index = self._recognise(message) or self._behind(message)
        self._turns.setdefault(message.turn_index, turn_index)
        turn_id = Turn.make_id(message.session_id, turn_index)
        return message.model_copy(
            update={
                "doc_id": RawMessage.make_id(message.session_id, turn_id, message_index),
                "turn_id": turn_id,
                "turn_index": turn_index,
                "message_index": message_index,
            }
        )

    def _recognise(self, message: RawMessage) -> _Place | None:
        for name in _names(message):
            places = self._found.get(name, deque())
            while places and places[0] in self._taken:
                places.popleft()
            if places:
                self._taken.add(places[0])
                return places.popleft()
        return None

    def _behind(self, message: RawMessage) -> _Place:
        turn_index = self._turns.get(message.turn_index)
        if turn_index is None:
            turn_index = max(self._next) + 1
        message_index = self._next.get(turn_index, 0)
        self._next[turn_index] = message_index + 1
        return turn_index, message_index


def _names(message: RawMessage) -> Iterable[Hashable]:
    """What a message is recognised by, the surest first."""
    if message.entry_id is not None:
        yield "entry", message.entry_id, message.role
    yield "both", message.message_timestamp, message.content_sha256, message.role, message.kind
    yield "time", message.message_timestamp, message.role, message.kind
    yield "text", message.content_sha256, message.role, message.kind
