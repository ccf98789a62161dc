"""The first lines of a file: whether it is a pi session, its header's id and its working folder.

Reads some KB, so that thousands of files are told apart within a second; ``outline`` has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory_pipeline.errors import NotASession
from memory_pipeline.sessions.files import open_regular
from memory_pipeline.sessions.framing import Record, parse_line
from memory_pipeline.sessions.records import (
    NO_SESSION,
    is_entry,
    is_header,
    is_known_entry,
    is_title,
    look_alike,
    look_alike_bytes,
)

_STEPS = (8 << 10, 1 << 20)
"""Bytes looked at first, and where those decide nothing (a first line of many KB)."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the header says; both empty for a session that lost its header."""

    header_id: str = ""
    cwd: str = ""


def read_head(path: str) -> Head:
    """Raises NotASession for look-alikes and empty files, InputError where the file cannot be read."""
    with open_regular(path) as stream:
        start = b""
        for size in _STEPS:
            start += stream.read(size - len(start))
            whole = len(start) < size
            if (head := _decide(path, start, whole=whole)) is not None:
                return head
    content = start.lstrip(b"\0\r\n\t \xef\xbb\xbf")
    if not content or content.startswith(b"{"):
        return Head()  # one very long first line, or what a crash left in its place
    raise NotASession(f"{path} {look_alike_bytes(start)}.")


def _decide(path: str, start: bytes, *, whole: bool) -> Head | None:
    """None where more bytes are needed; ``whole`` says that there are no more."""
    lines = start.split(b"\n")
    if not whole:
        lines.pop()
    header: Record | None = None
    others: list[Record] = []
    for record in (record for line in lines if line for record in parse_line(line).records):
        if is_header(record):
            header = header or record
        elif is_known_entry(record) or (header and is_entry(record)):
            return _head(header)
        elif not is_title(record):
            others.append(record)
        if header and others:  # what follows the header tells a session from pi's JSON output
            break
    if others and (instead := look_alike(others)):
        raise NotASession(f"{path} {instead}.")
    if header:
        return _head(header)
    if others or whole:
        raise NotASession(f"{path} {NO_SESSION if others else look_alike_bytes(start)}.")
    return None


def _head(header: Record | None) -> Head:
    if header is None:
        return Head()
    header_id, cwd = header.get("id"), header.get("cwd")
    return Head(header_id if isinstance(header_id, str) else "", cwd if isinstance(cwd, str) else "")
