"""The passage of a long text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

SNIPPET_CHARS = 300
PLACES = 1_000
"""How many matches are looked at; a text that holds more shows its point early enough."""
LONGEST_SUFFIX = 3
SHORTEST_STEM = 4


def snippet(text: str, terms: Collection[str]) -> str:
    """At most 300 characters of ``text`` in one line, around the place where most different terms stand close by.

    Terms are matched by their beginnings, as stores match them by their stems. Where none is found: the beginning.
    """
    stems = [term[: max(SHORTEST_STEM, len(term) - LONGEST_SUFFIX)] for term in terms]
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, stems)) + ")", re.IGNORECASE) if stems else None
    places = [(m.start(), m[0].casefold()) for m in islice(pattern.finditer(text), PLACES)] if pattern else []
    start = max(0, _densest(places) - SNIPPET_CHARS // 4)
    return _window(text, start)


def _densest(places: list[tuple[int, str]]) -> int:
    """Where the stretch of a snippet's length with the most different terms begins."""
    best, best_at, first = 0, 0, 0
    for place, (position, _) in enumerate(places):
        while position - places[first][0] > SNIPPET_CHARS // 2:
            first += 1
        different = len({term for _, term in places[first : place + 1]})
        if different > best:
            best, best_at = different, places[first][0]
    return best_at


def _window(text: str, start: int) -> str:
    # White space shrinks to one blank, so more of the text than the snippet's length may fit.
    piece = text[start : start + 4 * SNIPPET_CHARS]
    words = piece.split()
    if start > 0 and not text[start - 1].isspace():
        words = words[1:] or words
    before, after = "… " if start > 0 else "", " …"
    line = before + " ".join(words)
    if len(line) <= SNIPPET_CHARS and start + len(piece) >= len(text):
        return line
    kept = line[: SNIPPET_CHARS - len(after)]
    if " " in kept and not line[len(kept) : len(kept) + 1].isspace():
        kept = kept[: kept.rindex(" ")]
    return kept + after
