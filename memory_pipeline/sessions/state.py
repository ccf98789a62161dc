"""What was learnt of a session file so far: where things are and how they are linked, and none of its text.

Ids and kinds are kept as they are; ``plain`` says whether all of them are such as pi itself makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import BinaryIO, NamedTuple

from memory_pipeline.sessions.entries import Kind, Texts
from memory_pipeline.sessions.framing import Record, parse_line


class Place(NamedTuple):
    """Where one record is in the file: its line in bytes, and its number within the line."""

    offset: int
    length: int
    part: int

    def record(self, stream: BinaryIO) -> Record | None:
        """The record, read again; None where there is none."""
        stream.seek(self.offset)
        records = parse_line(stream.read(self.length)).records
        return records[self.part] if self.part < len(records) else None


@dataclass(slots=True)
class State:
    """Grows as the file is read. Times in milliseconds since 1970."""

    rows: bytearray = field(default_factory=bytearray)
    """Of dtype entries.ROW."""
    kinds: list[Kind] = field(default_factory=list)
    texts: Texts = field(default_factory=Texts)
    problems: list[tuple[int, str]] = field(default_factory=list)
    """(line, reason) of the first; a reason never quotes the file."""
    problem_count: int = 0
    header: Place | None = None
    header_time: int | None = None
    title: Place | None = None
    name: Place | None = None
    last_time: int | None = None
    taken: int = 0
    """Entries, repeated ones too."""
    foreign: int = 0
    """Entries whose type is none of pi's and that are not linked like pi's."""
    unknown: int = 0
    """Those, and records that are no entries."""
    plain: bool = True
    timed_by_file: bool = False
    """Whether some entry's time is the file's own time of change, which another reading will find changed."""

    def copy(self) -> State:
        return replace(
            self,
            rows=bytearray(self.rows),
            kinds=list(self.kinds),
            texts=self.texts.copy(),
            problems=list(self.problems),
        )
