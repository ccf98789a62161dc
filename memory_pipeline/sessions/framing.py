"""A line of a session file → JSON objects, with what was wrong with it named. What they mean is decided elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import orjson

Record: TypeAlias = dict[str, Any]
"""One JSON object of a file, of any shape."""

LONGEST_LINE = 64 << 20
"""Bytes of the longest line that is read; the longest reported from the wild has 22 MB."""

_FAILED_RESTARTS = 100
"""Tries before a damaged line is given up: each may cost its whole length."""

_RESTART = re.compile(r'\{\s*"type"\s*:')
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BETWEEN = ", \t\r\ufeff"
"""What may stand between records on one line."""
_AROUND = 200
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)')


class Parsed(NamedTuple):
    """The objects of one line (none for a blank one) and what was wrong with it, None where nothing was."""

    records: tuple[Record, ...]
    fault: str | None
    sources: tuple[bytes, ...] = ()
    """The bytes of each record without what is around it, where that is more than white space; else empty."""


def parse_line(raw: bytes | None) -> Parsed:
    """The objects that a line holds or that can be saved from it; never raises."""
    if raw is None:
        return Parsed((), f"longer than {LONGEST_LINE >> 20} MiB")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _salvage(raw)
    return _one(value)


def _one(value: object, *faults: str, source: bytes | None = None) -> Parsed:
    if isinstance(value, dict):
        return Parsed((value,), "; ".join(faults) or None, () if source is None else (source,))
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
        return _one(value, *faults, source=raw)
    if (value := _load(text, _LENIENT)) is not _FAILED:
        return _one(value, *faults, "signs or numbers that JSON does not allow", source=raw)
    repaired = _ESCAPE.sub(lambda match: r"\\" if match[1] else match[0], text)
    if repaired != text:
        faults.append("wrong escapes")
        if (value := _load(repaired, _LENIENT)) is not _FAILED:
            return _one(value, *faults, source=raw)
    found = list(_restarts(repaired))
    if found:
        records, sources = zip(*found, strict=True)
        return Parsed(records, "; ".join([*faults, f"damaged or glued records, {len(found)} read"]), sources)
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


def _restarts(text: str) -> Iterator[tuple[Record, bytes]]:
    """The whole records inside a line that is none, with their bytes: a torn one and what was glued to it."""
    position = failed = 0
    damaged = _Damaged(text)
    while failed < _FAILED_RESTARTS and (match := _RESTART.search(text, position)):
        start = match.start()
        try:
            value, position = _LENIENT.raw_decode(text, start)
        except (ValueError, RecursionError):
            failed += 1
            position = match.end()
            continue
        within = damaged.holds(start, position)
        # A block of the torn record parses too; only entries and headers carry a timestamp.
        if isinstance(value.get("type"), str) and "timestamp" in value and not within:
            yield value, text[start:position].encode()
            damaged.begin(position)


class _Damaged:
    """The damaged record that a stretch of a line belongs to, walked through once, from object to object."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.begin(0)

    def begin(self, at: int) -> None:
        """Whatever comes from here on belongs to another record."""
        self._begin = self._walked = at
        self._has_start = self._text[at : at + _AROUND].lstrip(_BETWEEN).startswith("{")
        self._in_string = False

    def holds(self, start: int, end: int) -> bool:
        """Whether an object is a value of the record, such as a tool's argument, rather than written over or behind it.

        A value stands where one may stand, and a comma or bracket follows it.
        """
        before = self._text[max(self._begin, start - _AROUND) : start].rstrip(_BETWEEN[1:])
        after = self._text[end : end + _AROUND].lstrip(_BETWEEN[1:])[:1]
        quotes = _ESCAPED.sub("", self._text[self._walked : start]).count('"')
        self._in_string ^= quotes % 2 == 1
        self._walked = end
        if not before.strip(_BETWEEN):
            return after in ("}", "]")
        if self._has_start and self._in_string:
            return False
        return before.endswith((":", "[", ",")) and after in (",", "}", "]")
