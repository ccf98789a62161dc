"""What a redacted text is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without secrets, how many were taken out of it, and how many of each kind."""

    text: str
    count: int
    kinds: Mapping[str, int] = field(default_factory=dict, hash=False)
    recognised: bool = False
    """Of a session's text: whether a rule found something in it, and not only what was known from elsewhere."""


TOKEN = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{6}\]")


def is_redacted(before: str, after: str) -> bool:
    """Whether ``after`` is ``before`` with tokens in place of some of it, or equal."""
    first, *pieces = TOKEN.split(after)
    if not before.startswith(first):
        return False
    position = len(first)
    for number, piece in enumerate(pieces, 1):
        start = len(before) - len(piece) if number == len(pieces) else before.find(piece, position)
        if start < position or not before.startswith(piece, start):
            return False
        position = start + len(piece)
    return position == len(before)
