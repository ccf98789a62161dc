"""What may be kept of a secret: by its mark it is known again when only its bare value is left.

A file that was rewritten without the line that told a password, or a fork that repeats what its parent was told,
holds words that no rule recognises. A mark is a keyed hash: it tells nothing of the value without the key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator

from memory_pipeline.redaction.literals import is_distinctive

_HASH = 8  # bytes
_RUN = re.compile(rb"[!-~\x80-\xff]{6,}")
_BORDER = re.compile(rb"\\[nrtbf\"\\]|[\x80-\xff]+|[^0-9A-Za-z\x80-\xff]")
_JOINED = 6
"""Pieces between borders that a value may consist of: a password can hold such signs itself."""
_AROUND = b"\"'`,;()<>[]{}|=:&?.!*"


def mark(key: bytes, written: str, value: bytes) -> str:
    """Of a value that is written as the token ``written``: ``kind:xxxxxx:bytes:hash``, a keyed hash of 16 hex digits.

    Without the length every piece of every text would have to be hashed.
    """
    return f"{written[len('[redacted:') : -1]}:{len(value)}:{_hash(key, value)}"


class Marks:
    """Finds marked values among the words of a text."""

    def __init__(self, marks: Collection[str], key: bytes) -> None:
        self._key = key
        self._written: dict[str, str] = {}
        self._lengths: set[int] = set()
        for known in marks:
            name, length, hashed = known.rsplit(":", 2)
            self._written[hashed] = f"[redacted:{name}]"
            self._lengths.add(int(length))

    def __bool__(self) -> bool:
        return bool(self._written)

    def find(self, data: bytes) -> dict[bytes, str]:
        """Marked values that stand in ``data`` → the tokens that they are written as."""
        values = {value for word in set(_RUN.findall(data)) for value in _candidates(word, self._lengths)}
        hashed = ((value, self._written.get(_hash(self._key, value))) for value in values if is_distinctive(value))
        return {value: written for value, written in hashed if written is not None}


def _candidates(word: bytes, lengths: Collection[int]) -> Iterator[bytes]:
    """What in a word may be a value of one of these lengths: all of it, without the signs around it, and its pieces,
    joined ones too.
    """
    if len(word) < min(lengths):
        return
    bare = word.strip(_AROUND)
    yield from (whole for whole in (word, bare) if len(whole) in lengths)
    borders = list(_BORDER.finditer(bare))
    starts = [0, *(border.end() for border in borders)]
    ends = [*(border.start() for border in borders), len(bare)]
    for first, start in enumerate(starts if borders else ()):
        for end in ends[first : first + _JOINED]:
            if end - start in lengths:
                yield bare[start:end]


def _hash(key: bytes, value: bytes) -> str:
    return hashlib.blake2b(value, digest_size=_HASH, key=key).hexdigest()
