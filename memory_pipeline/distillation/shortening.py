"""Cuts a turn that is longer than the model's context: its beginning and its end stay, the middle goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memory_pipeline.sessions.text import shorten as cut_middle

CHARS_PER_TOKEN = 8
"""More characters than this a token never stands for on average; so much is cut before anything is counted."""
HEAD_SHARE = 0.4
"""The beginning holds what was asked, the end what came of it; the end is worth a little more."""
SHRINK = 0.9
TRIES = 8


@dataclass(frozen=True, slots=True)
class Shortened:
    text: str
    cut_chars: int


def shorten(text: str, *, tokens: int, count: Callable[[str], int]) -> Shortened:
    """``text`` in at most ``tokens`` tokens, as ``count`` counts them."""
    kept = min(len(text), tokens * CHARS_PER_TOKEN)
    for _ in range(TRIES):
        short = keep_ends(text, kept)
        counted = count(short.text)
        if counted <= tokens:
            return short
        kept = int(kept * SHRINK * tokens / counted)
    return keep_ends(text, 0)


def keep_ends(text: str, chars: int) -> Shortened:
    """The text's first and last characters, ``chars`` in all, and a marker where something is missing."""
    head = int(chars * HEAD_SHARE)
    return Shortened(*cut_middle(text, head, chars - head))
