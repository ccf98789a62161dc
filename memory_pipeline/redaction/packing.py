"""Secrets inside base64: what decodes to text is scanned too, and the whole packed region goes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import NamedTuple

_LONGEST = 1 << 20
_PRINTABLE = bytes(range(32, 127)) + b"\t\r\n\x1b"
_TRY = 48  # signs of a run that tell text from binary


class Packed(NamedTuple):
    """Bytes ``start`` to ``end`` are base64 of ``text``."""

    start: int
    end: int
    text: bytes


def unpack(data: bytes, start: int, end: int) -> Packed | None:
    """The base64 run at ``start``, decoded, where that is text."""
    while end > start and data[end - 1 : end] not in _ALPHABET:
        end -= 1
    while start > 0 and data[start - 1 : start] in _ALPHABET:
        start -= 1
    if end - start > _LONGEST or not _is_text(_decoded(data[start : min(end, start + _TRY)])):
        return None
    text = _decoded(data[start:end])
    if not _is_text(text):
        return None
    while data[end : end + 1] == b"=":
        end += 1
    return Packed(start, end, text)


_ALPHABET = frozenset(bytes([c]) for c in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def _decoded(run: bytes) -> bytes:
    run = run.translate(_URL_SAFE)
    whole = len(run) // 4 * 4 if len(run) % 4 == 1 else len(run)
    try:
        return base64.b64decode(run[:whole] + b"=" * (-whole % 4))
    except binascii.Error:
        return b""


def _is_text(text: bytes) -> bool:
    if len(text) < 12:
        return False
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
    odd = len(text.translate(None, _PRINTABLE))
    return odd == 0 or (odd <= len(text) // 4 and all(c >= 128 or c in _PRINTABLE for c in text))


def in_one(packed: Sequence[Packed], border: bytes) -> tuple[bytes, list[int]]:
    """All texts in one, and where each starts."""
    starts, position = [], 0
    for item in packed:
        starts.append(position)
        position += len(item.text) + len(border)
    return border.join(item.text for item in packed), starts
