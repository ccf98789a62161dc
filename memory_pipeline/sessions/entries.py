"""The entries of a session file as rows of numbers: 48 bytes each, whatever they hold."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.sessions.bulk import LONG, id_of, usable_id
from memory_pipeline.sessions.clock import format_time
from memory_pipeline.sessions.compact import Compact
from memory_pipeline.sessions.framing import Record, parse_line
from memory_pipeline.sessions.records import kind_of

Kind: TypeAlias = tuple[str, str | None]
"""An entry's type, and its message's role where it has one."""

Rows: TypeAlias = NDArray[Any]

ROW = np.dtype(
    [
        ("offset", "<i8"),
        ("time", "<i8"),  # milliseconds since 1970
        ("id", "<i8"),  # keys, see bulk
        ("parent", "<i8"),
        ("length", "<u4"),
        ("line", "<u4"),
        ("part", "<u4"),
        ("kind", "<u4"),  # index among the file's kinds
    ]
)

_AT_ONCE = 1_000
_SUMMARIES = ("custom_message", "compaction", "branch_summary")


def is_user(kind: Kind) -> bool:
    return kind == ("message", "user")


def is_message(kind: Kind) -> bool:
    """Whether entries of this kind become documents of memory-raw."""
    return kind[0] in _SUMMARIES or (kind[0] == "message" and kind[1] is not None)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one entry is in the file and what it is. ``line`` counts from 1, ``part`` from 0 within the line."""

    line: int
    offset: int
    length: int
    part: int
    type: str
    role: str | None
    id: str | None
    timestamp: str
    """Its own, else the message's, else that of the entry before it, else the header's, else the file's."""

    @property
    def is_user(self) -> bool:
        return is_user((self.type, self.role))

    @property
    def is_message(self) -> bool:
        return is_message((self.type, self.role))

    def record_in(self, line: bytes) -> Record | None:
        """The entry's record in what its line now is; None where that is another."""
        records = parse_line(line).records
        if len(line) != self.length or self.part >= len(records):
            return None
        record = records[self.part]
        found = record.get("id")
        same = isinstance(record.get("type"), str) and kind_of(record) == (self.type, self.role)
        return record if same and (found if usable_id(found) else None) == self.id else None


@dataclass(slots=True)
class Texts:
    """The ids that are not eight hex digits, by the index of their entry; added in that order."""

    owners: array[int] = field(default_factory=lambda: array("Q"))
    ends: array[int] = field(default_factory=lambda: array("Q"))
    """Of each one's bytes in ``blob``."""
    blob: bytearray = field(default_factory=bytearray)

    def add(self, owner: int, text: str) -> None:
        self.blob += text.encode("utf-8", "surrogatepass")
        self.owners.append(owner)
        self.ends.append(len(self.blob))

    def get(self, owner: int) -> str | None:
        place = bisect_left(self.owners, owner)
        if place == len(self.owners) or self.owners[place] != owner:
            return None
        start = self.ends[place - 1] if place else 0
        return self.blob[start : self.ends[place]].decode("utf-8", "surrogatepass")

    def keep(self, kept: NDArray[np.bool_]) -> Texts:
        """Those of the entries that are kept, which then count from 0 again."""
        new = np.cumsum(kept) - 1
        texts = Texts()
        for owner in self.owners:
            if kept[owner] and (text := self.get(owner)) is not None:
                texts.add(int(new[owner]), text)
        return texts

    def copy(self) -> Texts:
        return Texts(self.owners[:], self.ends[:], self.blob[:])


class Entries(Compact[Entry]):
    """The entries in file order; each is made when it is asked for."""

    __slots__ = ("_kinds", "_texts", "rows")

    def __init__(self, rows: Rows, kinds: Sequence[Kind], texts: Texts) -> None:
        self.rows = rows
        self._kinds = kinds
        self._texts = texts

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Entry]:
        for start in range(0, len(self.rows), _AT_ONCE):
            for index, row in enumerate(self.rows[start : start + _AT_ONCE].tolist(), start):
                yield self._entry(index, row)

    def item(self, index: int) -> Entry:
        return self._entry(index, self.rows[index].item())

    def are_messages(self) -> NDArray[np.bool_]:
        """For each entry, whether it is a message."""
        return self._of(is_message)

    def are_users(self) -> NDArray[np.bool_]:
        return self._of(is_user)

    def _of(self, wanted: Callable[[Kind], bool]) -> NDArray[np.bool_]:
        chosen = np.fromiter((wanted(kind) for kind in self._kinds), np.bool_, len(self._kinds))
        found: NDArray[np.bool_] = chosen[self.rows["kind"]]
        return found

    def _entry(self, index: int, row: tuple[int, ...]) -> Entry:
        offset, time, key, _, length, line, part, kind = row
        entry_id = self._texts.get(index) if key >= LONG else id_of(key)
        return Entry(line, offset, length, part, *self._kinds[kind], entry_id, format_time(time))
