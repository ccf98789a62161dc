"""Blocks of lines → the state of a session file: what each record is, one row for each entry.

Most lines are entries as pi writes them, and cost a look-up or two each; the rest is taken apart slowly. Whatever
can be done for many entries at once is done when a block is full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import orjson

from memory_pipeline.sessions import bulk
from memory_pipeline.sessions.blocks import Block
from memory_pipeline.sessions.clock import from_mtime, latest_for, parse_time
from memory_pipeline.sessions.entries import ROW, Kind
from memory_pipeline.sessions.files import SessionFile
from memory_pipeline.sessions.framing import Record, parse_line
from memory_pipeline.sessions.records import ENTRY_TYPES, ROLES, is_entry, is_header, is_title, kind_of, shape
from memory_pipeline.sessions.state import Place, State
from memory_pipeline.sessions.text import clean

READER_VERSION = "2"
"""Raise it when the same bytes come to mean other messages; sessions read by another version are read again."""

NEWEST_VERSION = 3
PROBLEMS_KEPT = 1_000
_LOOK_ALIKES_KEPT = 10
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class _Taken:
    """The entries of a block whose rows are not written yet, column by column."""

    lines: list[int] = field(default_factory=list)
    """Their indices in the block."""
    kinds: list[int] = field(default_factory=list)
    ids: list[object] = field(default_factory=list)
    parents: list[object] = field(default_factory=list)
    times: list[object] = field(default_factory=list)
    parts: dict[int, int] = field(default_factory=dict)
    """Of the entries that are not the first on their line, by their place here."""

    def clear(self) -> None:
        for column in (self.lines, self.kinds, self.ids, self.parents, self.times):
            column.clear()
        self.parts.clear()


class Reading:
    """Takes a file's blocks in order. Beside the state it holds the few texts that an outline tells."""

    def __init__(self, file: SessionFile, state: State) -> None:
        self.state = state
        self.header: Record = {}
        self.title: str | None = None
        self.name: str | None = None
        self.unknown_records: list[Record] = []
        self._file = file
        self._latest = latest_for(state.header_time)
        self._taken = _Taken()
        self._title_at: tuple[int, int] | None = None
        self._name_at: tuple[int, int] | None = None
        self._codes: dict[Kind, int] = {}
        self._types: dict[str, int] = {}
        self._roles: dict[str, int] = {}
        for kind in state.kinds:
            self._number(kind)

    def recall(self, stream: BinaryIO) -> bool:
        """Read again the texts of a state that was saved; False where they are not where it says."""
        state = self.state
        header, title, name = (
            {} if place is None else place.record(stream) for place in (state.header, state.title, state.name)
        )
        if header is None or title is None or name is None:
            return False
        self.header, self.title, self.name = header, text_of(title.get("title")), text_of(name.get("name"))
        return (
            (state.header is None or is_header(header))
            and (state.title is None or is_title(title))
            and (state.name is None or name.get("type") == "session_info")
        )

    def take(self, block: Block) -> None:
        types, roles = self._types, self._roles
        taken = self._taken
        at, kinds, ids, parents, times = (
            taken.lines.append, taken.kinds.append, taken.ids.append, taken.parents.append, taken.times.append
        )  # fmt: skip
        loads, unlinked = orjson.loads, bulk.Unlinked
        for index, line in enumerate(block.lines):
            try:
                record = loads(line)  # type: ignore[arg-type]  # a line that is too long raises here too
                kind = record["type"]
                code = roles[record["message"]["role"]] if kind == "message" else types[kind]
            except (ValueError, LookupError, TypeError):
                self._take_apart(block, index)
                continue
            at(index)
            kinds(code)
            ids(record.get("id"))
            parents(record.get("parentId", unlinked))
            times(record.get("timestamp"))
        self._write_rows(block)
        if self._title_at:
            self.state.title = _place(block, *self._title_at)
        if self._name_at:
            self.state.name = _place(block, *self._name_at)
        self._title_at = self._name_at = None

    def problem(self, line: int, reason: str) -> None:
        """``reason`` must not quote the file: it is kept on disk."""
        self.state.problem_count += 1
        if len(self.state.problems) < PROBLEMS_KEPT:
            self.state.problems.append((line, reason))

    def _take_apart(self, block: Block, index: int) -> None:
        line, number = block.lines[index], block.number + index
        parsed = parse_line(line)
        if parsed.fault:
            self.problem(number, parsed.fault)
        for part, record in enumerate(parsed.records):
            if is_header(record):
                self._take_header(block, index, part, record)
            elif is_title(record):
                if title := text_of(record.get("title")):
                    self.title, self._title_at = title, (index, part)
            elif isinstance(record.get("type"), str):
                self._take_entry(block, index, part, record)
            else:
                self._take_unknown(record)
                self.problem(number, "record without a type")

    def _take_header(self, block: Block, index: int, part: int, record: Record) -> None:
        number = block.number + index
        if self.state.header is not None:
            self.problem(number, "another header")
            return
        if self._taken.lines or self.state.taken:
            self.problem(number, "header behind entries")
        self._write_rows(block)  # from here on times are measured against the header's
        self.header, self.state.header = record, _place(block, index, part)
        self.state.header_time = parse_time(record.get("timestamp"))
        self._latest = latest_for(self.state.header_time)
        version = version_of(record)
        if version > NEWEST_VERSION:
            self.problem(number, f"format version {version} is newer than this reader knows")

    def _take_unknown(self, record: Record) -> None:
        self.state.unknown += 1
        if len(self.unknown_records) < _LOOK_ALIKES_KEPT:
            self.unknown_records.append(shape(record))

    def _take_entry(self, block: Block, index: int, part: int, record: Record) -> None:
        kind = kind_of(record)
        if not is_entry(record):
            self.state.foreign += 1
            self._take_unknown(record)
        if kind[0] == "session_info":
            self.name, self._name_at = text_of(record.get("name")), (index, part)
        if kind == ("message", None):
            self.problem(block.number + index, "message without a role")
        taken = self._taken
        if part:
            taken.parts[len(taken.lines)] = part
        taken.lines.append(index)
        taken.kinds.append(self._number(kind))
        taken.ids.append(record.get("id"))
        taken.parents.append(record.get("parentId", bulk.Unlinked))
        taken.times.append(record.get("timestamp"))

    def _number(self, kind: Kind) -> int:
        """The kind's number; from its first entry on the others of its kind are taken quickly."""
        code = self._codes.get(kind)
        if code is None:
            code = self._codes[kind] = len(self._codes)
            name, role = kind
            if code == len(self.state.kinds):
                self.state.kinds.append(kind)
                self.state.plain &= name in ENTRY_TYPES and (role is None or role in ROLES)
            if name == "message" and role is not None:
                self._roles[role] = code
            elif name in ENTRY_TYPES and name not in ("message", "session_info"):
                self._types[name] = code
        return code

    def _write_rows(self, block: Block) -> None:
        state, taken = self.state, self._taken
        if not taken.lines:
            return
        lines = np.array(taken.lines)
        lengths = np.fromiter(map(len, filter(None, block.lines)), np.int64)
        rows = np.zeros(len(lines), ROW)
        rows["offset"] = (block.offset + np.cumsum(lengths) - lengths)[lines]
        rows["length"] = lengths[lines]
        rows["line"] = block.number + lines
        rows["kind"] = taken.kinds
        rows["id"] = keys = bulk.id_keys(taken.ids)
        rows["parent"] = above = bulk.parent_keys(taken.parents)
        rows["time"] = self._times(block)
        for i, part in taken.parts.items():
            rows["part"][i] = part
        written = len(state.rows) // ROW.itemsize
        for i in np.flatnonzero(keys >= bulk.LONG).tolist():
            state.texts.add(written + i, str(taken.ids[i]))
            state.plain &= _UUID.fullmatch(str(taken.ids[i])) is not None
        for i in np.flatnonzero(above >= bulk.LONG).tolist():
            state.plain &= _UUID.fullmatch(str(taken.parents[i])) is not None
        state.rows += rows.tobytes()
        state.taken += len(rows)
        taken.clear()

    def _times(self, block: Block) -> bulk.Ints:
        """Each entry's own time, else its message's, else that of the entry before it."""
        taken = self._taken
        found = bulk.times(taken.times, self._latest)
        for i in np.flatnonzero(found == bulk.NO_TIME).tolist():
            time = parse_time(taken.times[i], latest=self._latest)
            if time is None:
                record = parse_line(block.lines[taken.lines[i]]).records[taken.parts.get(i, 0)]
                message = record.get("message") if record["type"] == "message" else None
                said = message.get("timestamp") if isinstance(message, dict) else None
                time = parse_time(said, latest=self._latest)
            if time is not None:
                found[i] = time
        known = np.maximum.accumulate(np.where(found == bulk.NO_TIME, -1, np.arange(len(found))))
        if known[0] < 0:
            found[known < 0] = self._time_before()
            known[known < 0] = 0
        filled: bulk.Ints = found[known]
        self.state.last_time = int(filled[-1])
        return filled

    def _time_before(self) -> int:
        state = self.state
        if state.last_time is not None:
            return state.last_time
        if state.header_time is not None:
            return state.header_time
        state.timed_by_file = True
        return from_mtime(self._file.mtime_ns)


def version_of(header: Record) -> int:
    version = header.get("version", 1)
    return int(version) if isinstance(version, (int, float)) and 1 <= version < 1_000 else 1


def text_of(value: object) -> str | None:
    return (clean(value) or None) if isinstance(value, str) else None


def _place(block: Block, index: int, part: int) -> Place:
    before = sum(len(line or b"") for line in block.lines[:index])
    return Place(block.offset + before, len(block.lines[index] or b""), part)
