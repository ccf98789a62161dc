"""Text folded for comparing: case, white space, code ticks, emphasis, typographic signs make no difference."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

_ALIKE = str.maketrans("“”„‟«»‘’‚‛´‐‑‒–—―−\u00a0\u202f", '""""""\'\'\'\'\'-------  ')
_SOLID = re.compile(r"[^\s`*\u200b\ufeff]+")
_EDGE = " \t\n\"'.,;:!?()[]"
_ELISION = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|\(\s*(?:…|\.\.\.)\s*\)|…|\.{3,})\s*")
_SHORTEST = 4
"""Characters of a quote, or of a part of it, that may count as found."""


def fold(text: str) -> str:
    """Lower case with plain quotes and dashes, character by character, so that places stay the same."""
    text = text.translate(_ALIKE)
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


class Folded:
    """A text in which quotes can be found however they were set."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, quote: str) -> list[tuple[int, int]]:
        """Where the quote stands: (start, end) of each part between elisions, in order; empty if it doesn't."""
        parts = [part for part in _ELISION.split(fold(quote)) if part.strip(_EDGE)]
        found: list[tuple[int, int]] = []
        after = 0
        for part in parts:
            place = self._find("".join(_SOLID.findall(part)), after)
            if place is None:
                return []
            found.append((self._original(place[0]), self._original(place[1] - 1) + 1))
            after = place[1]
        return found

    def _find(self, solid: str, after: int) -> tuple[int, int] | None:
        """Where the part stands in the solid text; what models put around quotes may be missing there."""
        for wanted in dict.fromkeys((solid, solid.strip(_EDGE))):
            start = self._solid.find(wanted, after) if len(wanted) >= _SHORTEST else -1
            while start >= 0:
                if self._is_whole(start, start + len(wanted)):
                    return start, start + len(wanted)
                start = self._solid.find(wanted, start + 1)
        return None

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether the stretch begins and ends no word in its middle."""
        first, last = self._original(start), self._original(end - 1) + 1
        return not (_joined(self.text, first) or _joined(self.text, last))

    def _original(self, place: int) -> int:
        piece = bisect_right(self._begins, place) - 1
        return self._starts[piece] + place - self._begins[piece]

    @cached_property
    def _solid(self) -> str:
        return "".join(_SOLID.findall(fold(self.text)))

    @cached_property
    def _starts(self) -> list[int]:
        return [piece.start() for piece in _SOLID.finditer(fold(self.text))]

    @cached_property
    def _begins(self) -> list[int]:
        """Where each piece of ``_starts`` begins in the solid text."""
        begins = [0]
        for piece in _SOLID.finditer(fold(self.text)):
            begins.append(begins[-1] + len(piece[0]))
        return begins[:-1]


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on across this place; scripts without spaces have no such places."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return before.isalnum() and after.isalnum() and before < "\u0e00" and after < "\u0e00"
