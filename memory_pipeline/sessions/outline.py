"""Pass 1: one read of a session file, from which its order is known, but none of its text is kept.

An outline holds raw strings of the file (its header, its name): they leave this room through ``build_manifest`` and
``messages`` only, which redact.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.documents import Header, Problem
from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.sessions.clock import from_mtime, latest_for, parse_time
from memory_pipeline.sessions.files import SessionFile, open_regular, unreadable
from memory_pipeline.sessions.framing import Line, LineReader, Parsed, Record, parse_line
from memory_pipeline.sessions.records import NO_SESSION, is_entry, is_header, is_title, look_alike, shape
from memory_pipeline.sessions.text import clean
from memory_pipeline.sessions.tree import Tree, arrange

READER_VERSION = "1"
"""Raise it when the same bytes come to mean other messages; sessions read by another version are read again."""

_NEWEST_VERSION = 3
_LONGEST_ID = 128
_PROBLEMS_KEPT = 1_000
_LOOK_ALIKES_KEPT = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one entry is in the file and how it is linked. ``line`` counts from 1, ``part`` from 0 within the line."""

    line: int
    offset: int
    length: int
    part: int
    crc: int
    type: str
    role: str | None
    id: str | None
    parent_id: str | None
    linked: bool
    timestamp: str
    """Its own, else the message's, else that of the entry before it, else the header's, else the file's."""

    @property
    def is_user(self) -> bool:
        return self.type == "message" and self.role == "user"

    @property
    def is_message(self) -> bool:
        """Whether it becomes a document of memory-raw."""
        return (self.type == "message" and self.role is not None) or self.type in (
            "custom_message",
            "compaction",
            "branch_summary",
        )


@dataclass(frozen=True, slots=True)
class Outline:
    """The order of a session file; not redacted."""

    path: Path
    format: str
    header: Header
    name: str | None
    entries: tuple[Entry, ...]
    tree: Tree
    session_started_at: str
    ended_at: str
    content_sha256: str
    """Of the complete lines, that is, up to the last LF; a last line without LF counts if it is a whole object."""
    problems: tuple[Problem, ...]
    """The first thousand."""
    problem_count: int

    @property
    def message_count(self) -> int:
        return sum(entry.is_message for entry in self.entries)


def outline(file: SessionFile) -> Outline:
    """Reads the file once, a line at a time. Memory grows with the number of entries, not with their size.

    Damaged lines become problems. Raises NotASession for look-alikes, InputError where the file cannot be read.
    """
    with open_regular(file.path) as stream:
        reading = _Reading(file)
        lines = LineReader(stream)
        try:
            for line in lines:
                parsed = parse_line(line.raw)
                if not line.complete and (parsed.fault or len(parsed.records) != 1):
                    if line.raw is None or line.raw.strip():
                        reading.problem(line.number, "unfinished last line, left for the next time")
                    break
                if not line.complete:
                    lines.accept(line)
                reading.take(line, parsed)
        except OSError as error:
            raise InputError(unreadable(file.path, error)) from None
    return reading.finish(lines.sha256)


class _Reading:
    """What is known of a file so far."""

    def __init__(self, file: SessionFile) -> None:
        self._file = file
        self._header: Record | None = None
        self._header_time: str | None = None
        self._latest = latest_for(None)
        self._title: str | None = None
        self._name: str | None = None
        self._named = False
        self._entries: list[Entry] = []
        self._by_id: dict[str, int] = {}
        self._last_time: str | None = None
        self._known = self._unknown = 0
        self._unknown_records: list[Record] = []
        self._problems: list[Problem] = []
        self._problem_count = 0

    def problem(self, line: int, reason: str) -> None:
        self._problem_count += 1
        if len(self._problems) < _PROBLEMS_KEPT:
            self._problems.append(Problem(line=line, reason=reason))

    def take(self, line: Line, parsed: Parsed) -> None:
        if parsed.fault:
            self.problem(line.number, parsed.fault)
        crc = zlib.crc32(line.raw or b"")
        for part, record in enumerate(parsed.records):
            if is_header(record):
                self._take_header(line.number, record)
            elif is_title(record):
                self._title = _text(record.get("title")) or self._title
            elif isinstance(record.get("type"), str):
                self._take_entry(line, part, crc, record)
            else:
                self._take_unknown(record)
                self.problem(line.number, "record without a type")

    def _take_header(self, line: int, record: Record) -> None:
        if self._header is not None:
            self.problem(line, "another header")
            return
        if self._entries:
            self.problem(line, "header behind entries")
        self._header = record
        self._header_time = parse_time(record.get("timestamp"))
        self._latest = latest_for(self._header_time)
        version = _version(record)
        if version > _NEWEST_VERSION:
            self.problem(line, f"format version {version} is newer than this reader knows")

    def _take_unknown(self, record: Record) -> None:
        self._unknown += 1
        if len(self._unknown_records) < _LOOK_ALIKES_KEPT:
            self._unknown_records.append(shape(record))

    def _take_entry(self, line: Line, part: int, crc: int, record: Record) -> None:
        kind = record["type"]
        if is_entry(record):
            self._known += 1
        else:
            self._take_unknown(record)
        if kind == "session_info":
            self._name, self._named = _text(record.get("name")), True
        message = record.get("message") if kind == "message" else None
        role = _text(message.get("role")) if isinstance(message, dict) else None
        if kind == "message" and role is None:
            self.problem(line.number, "message without a role")
        time = parse_time(record.get("timestamp"), latest=self._latest)
        if time is None and isinstance(message, dict):
            time = parse_time(message.get("timestamp"), latest=self._latest)
        self._last_time = time = time or self._last_time or self._header_time or from_mtime(self._file.mtime_ns)
        parent = record.get("parentId")
        entry = Entry(
            line=line.number,
            offset=line.offset,
            length=len(line.raw or b""),
            part=part,
            crc=crc,
            type=sys.intern(kind[:_LONGEST_ID]),
            role=None if role is None else sys.intern(role[:_LONGEST_ID]),
            id=_id(record.get("id")),
            parent_id=None if parent is None else (_id(parent) or ""),
            linked="parentId" in record,
            timestamp=time,
        )
        if self._is_repetition(entry):
            self.problem(line.number, "entry repeated")
            return
        if entry.id is not None:
            self._by_id[entry.id] = len(self._entries)
        self._entries.append(entry)

    def _is_repetition(self, entry: Entry) -> bool:
        """Old pi writes the whole prefix of a session again, byte for byte, when it finds no answer in it."""
        index = None if entry.id is None else self._by_id.get(entry.id)
        if index is None:
            return False
        earlier = self._entries[index]
        return (earlier.length, earlier.crc, earlier.part) == (entry.length, entry.crc, entry.part)

    def finish(self, content_sha256: str) -> Outline:
        entries = tuple(self._entries)
        self._refuse_look_alikes()
        tree = arrange(entries)
        for index in tree.repaired:
            self.problem(entries[index].line, "unknown parent; hung on the entry before it")
        header = self._header or {}
        fallback = self._header_time or from_mtime(self._file.mtime_ns)
        times = [entry.timestamp for entry in entries if entry.is_message]
        version = _version(header) if self._header else (3 if any(entry.id for entry in entries) else 1)
        if self._header is None:
            self.problem(0, "no header")
        return Outline(
            path=self._file.path,
            format=f"pi-v{version}" if version <= _NEWEST_VERSION else f"pi-v{_NEWEST_VERSION}+",
            header=Header(
                id=_text(header.get("id")),
                version=version,
                timestamp=self._header_time,
                cwd=_text(header.get("cwd")) or "",
                parent_session=_text(header.get("parentSession")) or _text(header.get("branchedFrom")),
            ),
            name=self._name if self._named else (self._title or _text(header.get("title"))),
            entries=entries,
            tree=tree,
            session_started_at=times[0] if times else fallback,
            ended_at=max(times) if times else fallback,
            content_sha256=content_sha256,
            problems=tuple(sorted(self._problems, key=lambda problem: problem.line)),
            problem_count=self._problem_count,
        )

    def _refuse_look_alikes(self) -> None:
        # A file that lost its header is one by its messages; another that has one is none by what follows.
        own = self._header is not None or any(entry.is_user for entry in self._entries)
        if not own or self._unknown > self._known:
            raise NotASession(f"{self._file.path} {look_alike(self._unknown_records) or NO_SESSION}.")


def _version(header: Record) -> int:
    version = header.get("version", 1)
    return int(version) if isinstance(version, (int, float)) and 1 <= version < 1_000 else 1


def _text(value: object) -> str | None:
    return (clean(value) or None) if isinstance(value, str) else None


def _id(value: object) -> str | None:
    """An id as it is kept: damaged files hold anything, and this much of each entry stays in memory."""
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST_ID else None
