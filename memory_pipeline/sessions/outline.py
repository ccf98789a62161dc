"""Pass 1: one read of a session file, from which its order is known, but none of its text is kept.

An outline holds raw strings of the file (its header, its name): they leave this room through ``build_manifest`` and
``messages`` only, which redact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from memory_pipeline.documents import Header, Problem
from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.sessions.blocks import BlockReader
from memory_pipeline.sessions.bulk import NO_ID, Ints
from memory_pipeline.sessions.clock import format_time, from_mtime
from memory_pipeline.sessions.compact import Column
from memory_pipeline.sessions.entries import ROW, Entries, Entry
from memory_pipeline.sessions.files import SessionFile, open_regular, unreadable
from memory_pipeline.sessions.framing import parse_line
from memory_pipeline.sessions.reading import NEWEST_VERSION, PROBLEMS_KEPT, READER_VERSION, Reading, text_of, version_of
from memory_pipeline.sessions.records import NO_SESSION, look_alike
from memory_pipeline.sessions.repetition import repeated
from memory_pipeline.sessions.saved import SavedOutline
from memory_pipeline.sessions.state import State
from memory_pipeline.sessions.tree import NO_TURN, Links, Tree, arrange

__all__ = ["READER_VERSION", "Entry", "Outline", "outline"]


@dataclass(frozen=True, slots=True)
class Outline:
    """The order of a session file; not redacted."""

    path: Path
    format: str
    header: Header
    name: str | None
    entries: Entries
    tree: Tree
    session_started_at: str
    ended_at: str
    content_sha256: str
    """Of the complete lines, that is, up to the last LF; a last line without LF counts if it is a whole object.

    SHA-256 over the SHA-256 of each MiB (see ``blocks.ContentHash``), which depends on the bytes alone.
    """
    problems: tuple[Problem, ...]
    """The first thousand."""
    problem_count: int
    saved: SavedOutline | None = field(default=None, compare=False, repr=False)
    """What a later outline of the grown file can begin with; None where it has to read the file from its start."""
    resumed_at: int = field(default=0, compare=False)
    """Index of the first entry that was read now; 0 where the file was read from its start."""
    changed_from: int = field(default=0, compare=False)
    """Index of the first entry that is new, or else has another parent, turn or active path than it was saved with."""
    prefix_changed: bool = field(default=False, compare=False)
    """Whether the file is no longer the one that the earlier outline began with."""

    @property
    def message_count(self) -> int:
        return int(self.entries.are_messages().sum())

    def message_indices(self) -> Column[int]:
        """For each entry, how many messages of its turn stand before it."""
        said, turns = self.entries.are_messages(), self.tree.turn_index.array
        order = np.argsort(turns, kind="stable")
        before: Ints = np.cumsum(said[order]) - said[order]
        first = np.flatnonzero(np.diff(turns[order], prepend=NO_TURN - 1))
        indices = np.empty(len(said), np.int32)
        indices[order] = before - np.repeat(before[first], np.diff(first, append=len(said)))
        return Column(indices)


def outline(file: SessionFile, earlier: SavedOutline | None = None) -> Outline:
    """Reads the file once, a block at a time. Memory grows with the number of entries, not with their size.

    Begins where ``earlier`` ended if the file only grew since, and the result is that of a whole read all the same.
    Damaged lines become problems. Raises NotASession for look-alikes, InputError where the file cannot be read.
    """
    with open_regular(file.path) as stream:
        try:
            if earlier is not None and (grown := _resumed(file, stream, earlier)):
                return grown
            stream.seek(0)
            whole = _read(file, stream, Reading(file, State()), BlockReader(stream))
        except OSError as error:
            raise InputError(unreadable(file.path, error)) from None
    return whole if earlier is None else replace(whole, prefix_changed=True)


def _resumed(file: SessionFile, stream: BinaryIO, earlier: SavedOutline) -> Outline | None:
    """None where the file has to be read from its start."""
    content = earlier.content_if_unchanged(stream)
    reading = Reading(file, earlier.state.copy())
    if content is None or not reading.recall(stream):
        return None
    stream.seek(earlier.offset)
    blocks = BlockReader(stream, number=earlier.lines + 1, offset=earlier.offset, content=content)
    try:
        grown = _read(file, stream, reading, blocks)
    except NotASession:  # the reason is among the lines that were not read now
        return None
    return replace(grown, resumed_at=len(earlier.rows), changed_from=_changed_from(earlier, grown))


def _changed_from(earlier: SavedOutline, grown: Outline) -> int:
    count = len(earlier.rows)
    if earlier.state.header is None and grown.header != Header(version=grown.header.version):
        return 0
    before = arrange(_links(Entries(earlier.rows, earlier.state.kinds, earlier.state.texts)))
    changed = np.zeros(count, np.bool_)
    for old, new in (
        (before.parents, grown.tree.parents),
        (before.turn_index, grown.tree.turn_index),
        (before.on_active_path, grown.tree.on_active_path),
    ):
        changed |= old.array != new.array[:count]
    return int(changed.argmax()) if changed.any() else count


def _read(file: SessionFile, stream: BinaryIO, reading: Reading, reader: BlockReader) -> Outline:
    last: list[tuple[int, str]] = []
    resumable = True
    for block in reader:
        if not block.complete:
            line = block.lines[0]
            parsed = parse_line(line)
            if parsed.fault or len(parsed.records) != 1 or line is None:
                if line is None or line.strip():
                    last.append((block.number, "unfinished last line, left for the next time"))
                break
            reader.accept(line)
            resumable = False  # once it has its line end it is longer, and so another line
        reading.take(block)
    state = reading.state
    _drop_repeated(stream, state)
    entries = Entries(np.frombuffer(state.rows, ROW), state.kinds, state.texts)
    _refuse_look_alikes(file, reading)
    tree = arrange(_links(entries))
    lines = entries.rows["line"]
    last += [(int(lines[i]), "unknown parent; hung on the entry before it") for i in tree.repaired[:PROBLEMS_KEPT]]
    if state.header is None:
        last.append((0, "no header"))
    header = reading.header
    fallback = from_mtime(file.mtime_ns) if state.header_time is None else state.header_time
    times = entries.rows["time"][entries.are_messages()]
    if state.header is None:
        version = NEWEST_VERSION if (entries.rows["id"] != NO_ID).any() else 1
    else:
        version = version_of(header)
    return Outline(
        path=file.path,
        format=f"pi-v{version}" if version <= NEWEST_VERSION else f"pi-v{NEWEST_VERSION}+",
        header=Header(
            id=text_of(header.get("id")),
            version=version,
            timestamp=None if state.header_time is None else format_time(state.header_time),
            cwd=text_of(header.get("cwd")) or "",
            parent_session=text_of(header.get("parentSession")) or text_of(header.get("branchedFrom")),
        ),
        name=reading.name if state.name else (reading.title or text_of(header.get("title"))),
        entries=entries,
        tree=tree,
        session_started_at=format_time(int(times[0]) if len(times) else fallback),
        ended_at=format_time(int(times.max()) if len(times) else fallback),
        content_sha256=reader.content.hexdigest(),
        problems=tuple(Problem(line=line, reason=reason) for line, reason in _first_problems(state.problems + last)),
        problem_count=state.problem_count + len(last) + max(0, len(tree.repaired) - PROBLEMS_KEPT),
        saved=SavedOutline.of(reader, state) if resumable else None,
    )


def _links(entries: Entries) -> Links:
    return Links(entries.rows["id"], entries.rows["parent"], entries.are_users())


def _drop_repeated(stream: BinaryIO, state: State) -> None:
    rows = np.frombuffer(state.rows, ROW)
    again = repeated(stream, rows)
    if not len(again):
        return
    named = [(line, "entry repeated") for line in rows["line"][again[:PROBLEMS_KEPT]].tolist()]
    state.problems = _first_problems(state.problems + named)
    state.problem_count += len(again)
    kept = np.ones(len(rows), np.bool_)
    kept[again] = False
    state.rows, state.texts = bytearray(rows[kept].tobytes()), state.texts.keep(kept)


def _first_problems(problems: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted(problems, key=itemgetter(0))[:PROBLEMS_KEPT]


def _refuse_look_alikes(file: SessionFile, reading: Reading) -> None:
    # By its messages a file is a session, header or not; without any, what follows the header may show that it is none.
    state = reading.state
    said = any(name == "message" and role is not None for name, role in state.kinds)
    if not said and (state.header is None or state.unknown > state.taken - state.foreign):
        raise NotASession(f"{file.path} {look_alike(reading.unknown_records) or NO_SESSION}.")
