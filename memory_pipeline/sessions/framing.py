"""Bytes of a session file → lines → JSON objects, with what was wrong with a line named.

Lines end at LF only: U+2028 and the like stand raw inside JSON strings. What a line means is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import orjson

Record: TypeAlias = dict[str, Any]
"""One JSON object of a file, of any shape."""

LONGEST_LINE = 64 << 20
"""Bytes of the longest line that is read; the longest reported from the wild has 22 MB."""

_FAILED_RESTARTS = 100
"""Tries before a damaged line is given up: each may cost its whole length."""

_RESTART = re.compile(r'\{\s*"type"\s*:')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)')


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its LF. ``raw`` is None where it is longer than LONGEST_LINE; ``complete`` means it has its LF."""

    number: int
    offset: int
    raw: bytes | None
    complete: bool


class LineReader:
    """Iterates over the lines of a stream and hashes the complete ones; one line in memory at a time."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()

    def accept(self, line: Line) -> None:
        """Count an unfinished last line among the complete ones."""
        self._hash.update(line.raw or b"")

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[Line]:
        number = offset = 0
        while raw := self._stream.readline(LONGEST_LINE):
            number += 1
            complete = raw.endswith(b"\n")
            length = len(raw)
            if complete:
                self._hash.update(raw)
            elif length == LONGEST_LINE:
                whole = self._hash.copy()
                while raw and not raw.endswith(b"\n"):
                    whole.update(raw)
                    raw = self._stream.readline(LONGEST_LINE)
                    length += len(raw)
                complete = raw.endswith(b"\n")
                if complete:
                    whole.update(raw)
                    self._hash = whole
                yield Line(number, offset, None, complete)
                offset += length
                continue
            yield Line(number, offset, raw, complete)
            offset += length


class Parsed(NamedTuple):
    """The objects of one line (none for a blank one) and what was wrong with it, None where nothing was."""

    records: tuple[Record, ...]
    fault: str | None


def parse_line(raw: bytes | None) -> Parsed:
    """The objects that a line holds or that can be saved from it; never raises."""
    if raw is None:
        return Parsed((), f"longer than {LONGEST_LINE >> 20} MiB")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _salvage(raw)
    return _one(value)


def _one(value: object, *faults: str) -> Parsed:
    if isinstance(value, dict):
        return Parsed((value,), "; ".join(faults) or None)
    return Parsed((), "; ".join([*faults, "no JSON object"]))


def _salvage(raw: bytes) -> Parsed:
    faults = []
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
        faults.append("NUL bytes")
    raw = raw.strip().removeprefix(b"\xef\xbb\xbf")
    if not raw:
        return Parsed((), "; ".join(faults) or None)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        faults.append("bytes that are not UTF-8")
    if (value := _load(text, _STRICT)) is not _FAILED:  # lone surrogates: legal, but not for orjson
        return _one(value, *faults)
    if (value := _load(text, _LENIENT)) is not _FAILED:
        return _one(value, *faults, "signs or numbers that JSON does not allow")
    repaired = _ESCAPE.sub(lambda match: r"\\" if match[1] else match[0], text)
    if repaired != text:
        faults.append("wrong escapes")
        if (value := _load(repaired, _LENIENT)) is not _FAILED:
            return _one(value, *faults)
    records = tuple(_restarts(repaired))
    if records:
        return Parsed(records, "; ".join([*faults, f"damaged or glued records, {len(records)} read"]))
    return Parsed((), "; ".join([*faults, "no JSON"]))


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


_FAILED = object()
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)
_LENIENT = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


def _load(text: str, decoder: json.JSONDecoder) -> object:
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError):
        return _FAILED


def _restarts(text: str) -> Iterator[Record]:
    """The whole records inside a line that is none: a torn one and what was glued to it."""
    position = failed = 0
    while failed < _FAILED_RESTARTS and (match := _RESTART.search(text, position)):
        try:
            value, position = _LENIENT.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failed += 1
            position = match.end()
            continue
        # A block of the torn record parses too; only entries and headers carry a timestamp.
        if isinstance(value, dict) and isinstance(value.get("type"), str) and "timestamp" in value:
            yield value
