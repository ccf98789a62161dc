"""The same text, easier to read for rules: escapes as what they stand for, lines joined. Offsets stay known."""

from __future__ import annotations

import html
import re
from bisect import bisect_right

_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\\(?:u001b|x1b|033|e)\[[0-9;]*[A-Za-z]")
_COLOUR_STARTS = (b"\x1b[", rb"\u001b[", rb"\x1b[", rb"\033[", rb"\e[")
_ESCAPES = {
    rb"\n": b"\n\n", rb"\r": b"\r\r", rb"\t": b"\t\t", rb"\"": b'""', rb"\'": b"''", rb"\/": b"//", rb"\`": b"``",
}  # fmt: skip
_CODE_ESCAPE = re.compile(rb"\\u([0-9a-fA-F]{4})")
_ENTITY = re.compile(rb"&(?:#\d{1,4}|#x[0-9a-fA-F]{1,4}|quot|apos|amp|lt|gt|nbsp);")
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")


def readable(data: bytes) -> bytes:
    """``data`` with JSON escapes, HTML entities, colour codes and NUL as the characters they stand for.

    Of the same length, so that offsets are the same: a character is repeated to fill the place of its escape
    (``\\"`` becomes two quotes), because a blank would cut a token in two.
    """
    data = data.replace(b"\0", b" ")  # NUL bytes make the scanner guess at UTF-16, and offsets would shift
    if any(escape in data for escape in _COLOUR_STARTS):
        data = _COLOUR.sub(lambda found: b" " * len(found[0]), data)
    if b"\\" in data:
        if b"\\u" in data:
            data = _CODE_ESCAPE.sub(_from_code, data)
        for escape, character in _ESCAPES.items():
            data = data.replace(escape, character)
        data = data.replace(b"\\", b" ")
    if b"&" in data and b";" in data:
        data = _ENTITY.sub(_from_entity, data)
    return data


def _from_code(found: re.Match[bytes]) -> bytes:
    code = int(found[1], 16)
    return bytes([code]) * 6 if 32 <= code < 127 else b" " * 6


def _from_entity(found: re.Match[bytes]) -> bytes:
    character = html.unescape(found[0].decode("ascii"))
    return (character.encode("ascii") if character.isascii() else b" ") * len(found[0])


class Derived:
    """A text made of pieces of another one; knows where each byte came from and where a line break was taken out."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._parts: list[bytes] = []
        self._starts: list[int] = []
        self._places: list[int] = []
        self._lengths: list[int] = []
        self._breaks: list[int] = []
        self._size = 0

    def add(self, piece: bytes, place: int, length: int | None = None) -> None:
        """``piece`` stands for ``length`` bytes of the original at ``place``; as many as it has if not said."""
        self._starts.append(self._size)
        self._places.append(place)
        self._lengths.append(len(piece) if length is None else length)
        self._parts.append(piece)
        self._pieces.append(piece)
        self._size += len(piece)

    def border(self) -> None:
        self._pieces.append(b"\n \n")
        self._size += 3

    def mark_break(self) -> None:
        self._breaks.append(self._size)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def text(self) -> bytes:
        return b"".join(self._pieces)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The bytes ``start`` to ``end`` of ``text`` in the original."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        last = max(bisect_right(self._starts, end - 1) - 1, 0)
        inside = end - self._starts[last]
        if inside == len(self._parts[last]):
            inside = self._lengths[last]
        return self._places[first] + start - self._starts[first], self._places[last] + inside

    def is_broken(self, start: int, end: int) -> bool:
        at = bisect_right(self._breaks, start)
        return at < len(self._breaks) and self._breaks[at] < end


def joined(data: bytes) -> Derived | None:
    """The lines that may have been wrapped inside a token, without the breaks.

    Each break is taken out alone, because the line after next may begin with a word, and with its neighbours, because
    long tokens wrap more than once.
    """
    result = Derived()
    chain: list[tuple[int, bytes]] = []
    chain_end = -1
    for found in _BREAK.finditer(data):
        start = found.start()
        start -= data[start - 1] == _RETURN
        if data[start - 1] not in _TOKEN_SIGNS or not _is_wrap(data, start, found.end()):
            continue
        end = found.end()
        first = max(data.rfind(b"\n", 0, start) + 1, start - _REACH)
        last = _LINE.match(data, end, end + _REACH)
        before, after = (first, data[first:start]), (end, last[0] if last else b"")
        _put(result, [before, after])
        if start != chain_end:
            if len(chain) > 2:
                _put(result, chain)
            chain = [before]
        chain.append(after)
        chain_end = end + len(after[1])
    if len(chain) > 2:
        _put(result, chain)
    return result if result else None


def _put(result: Derived, lines: list[tuple[int, bytes]]) -> None:
    result.border()
    for number, (place, text) in enumerate(lines):
        if number:
            result.mark_break()
        result.add(text, place)


def _is_wrap(data: bytes, start: int, end: int) -> bool:
    """Whether the tokens before and after a break may be one secret, or one setting."""
    right = _RUN.match(data, end, end + _REACH)
    if right is None:
        return False
    token = data[max(0, start - _REACH) : start].rsplit(None, 1)[-1] + right[0]
    if len(token) < 8 or _DIGIT.search(token) is None:
        return False
    mixed = _CAPITAL.search(token) is not None and _SMALL.search(token) is not None
    return mixed or b"=" in token or b"://" in token or (len(token) >= 20 and token.isalnum())


def from_percent(data: bytes) -> Derived | None:
    """The runs of signs that hold percent codes, with the characters that these stand for."""
    result = Derived()
    end = -1
    for found in _PERCENT.finditer(data):
        if found.start() >= end:
            left = _RUN_BEFORE.search(data, max(0, found.start() - _REACH), found.start())
            start = left.start() if left else found.start()
            right = _RUN.match(data, found.start())
            end = right.end() if right else found.end()
            result.border()
            position = max(start, 0)
            for code in _PERCENT.finditer(data, position, end):
                result.add(data[position : code.start()], position)
                result.add(bytes([int(code[1], 16)]), code.start(), 3)
                position = code.end()
            result.add(data[position:end], position)
    return result if end >= 0 else None


_RUN = re.compile(rb"[^\s\"'<>]+")
_RUN_BEFORE = re.compile(rb"[^\s\"'<>]*\Z")


_RETURN = ord("\r")
_REACH = 400
_DIGIT, _CAPITAL, _SMALL = re.compile(rb"\d"), re.compile(rb"[A-Z]"), re.compile(rb"[a-z]")
_SIGNS = rb"0-9A-Za-z+/=_!%*@$#?&~-"
_TOKEN_SIGNS = frozenset(c for c in range(128) if re.fullmatch(rb"[" + _SIGNS + rb"]", bytes([c])))
# Dates and paths begin lines by themselves.
_BREAK = re.compile(
    rb"\n(?<=[\r" + _SIGNS + rb"]\n)(?:\r?\n)?(?!\d{1,4}[-:.]|\w+/\w+[/.])(?=[" + _SIGNS + rb"]\S*?[0-9=])"
)
_LINE = re.compile(rb"[^\r\n]+")
