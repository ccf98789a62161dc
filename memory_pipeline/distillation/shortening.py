"""Makes texts fit: a memory to what one may hold, a message to the tokens that there are for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memory_pipeline.distillation.units import sentences
from memory_pipeline.sessions.text import shorten as cut_middle

MEMORY_CHARS = 400
MEMORY_SENTENCES = 3
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


def whole_sentences(summary: str) -> str | None:
    """The first sentences of a memory, as many as one may hold; None where not even the first fits."""
    kept = ""
    for sentence in sentences(summary)[:MEMORY_SENTENCES]:
        end = summary.index(sentence, len(kept)) + len(sentence)
        if end > MEMORY_CHARS:
            break
        kept = summary[:end]
    return kept or None


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
