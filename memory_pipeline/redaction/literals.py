"""Known secrets, found again as they are: one Aho-Corasick pass for all of them, however many."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from memory_pipeline.redaction.spans import Span

RANK = 9
"""Above every rule: a value that is known already keeps its name."""

_SHORTEST = 6
_SAFE_ANYWHERE = 16
"""From this length on an odd value stands for itself inside other words too; shorter ones want a border."""

_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
_WORD_SIGNS = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")


def is_distinctive(value: bytes) -> bool:
    """Whether ``value`` may be replaced wherever it stands: nothing that is also written for other reasons.

    At least 6 bytes with letters and digits, or at least 8 that are neither a word nor a number; words joined by signs
    (``my-database``, ``app.main``) are none, phrases with blanks from 16 bytes on are.
    """
    if len(value) < _SHORTEST:
        return False
    if len(value) >= _SAFE_ANYWHERE and b" " in value.strip():
        return True
    letters, digits = any(chr(c).isalpha() for c in value), any(chr(c).isdigit() for c in value)
    if letters and digits:
        return not re.fullmatch(rb"[A-Za-z]+[-_.]?\d{1,2}|v?\d[\d.]*[a-z]*\d*|\d+[A-Za-z]{1,2}", value)
    if len(value) < 8 or not letters:
        return False
    words = re.split(rb"[-_./:@ ]", value)
    return not all(_WORD.fullmatch(word) or not word for word in words)


def forms(value: bytes) -> list[bytes]:
    """How ``value`` may read elsewhere: as it is, in JSON (once, twice), in an address, in HTML."""
    text = value.decode("utf-8", "surrogatepass")
    try:
        in_address = [quote(text, safe=""), quote(text, safe="-_.~/")]
    except UnicodeEncodeError:
        in_address = []
    in_json = json.dumps(text)[1:-1]
    plain_json = json.dumps(text, ensure_ascii=False)[1:-1]
    crlf = text.replace("\n", "\r\n")
    shapes = [text, crlf, in_json, plain_json, json.dumps(in_json)[1:-1], *in_address, html.escape(text)]
    return list(dict.fromkeys(shape.encode("utf-8", "surrogatepass") for shape in shapes))


class Literals:
    """Finds all forms of ``values``; each is reported as itself, with the kind that it is given here."""

    def __init__(self, values: Iterable[tuple[bytes, str]]) -> None:
        self._owners: list[tuple[bytes, str]] = []
        patterns: list[bytes] = []
        for value, kind in values:
            for form in forms(value):
                patterns.append(form)
                self._owners.append((value, kind))
        self._patterns = patterns
        self._automaton = BytesAhoCorasick(patterns, matchkind=MatchKind.LeftmostLongest) if patterns else None

    def find(self, data: bytes) -> list[Span]:
        if self._automaton is None:
            return []
        spans = []
        for index, start, end in self._automaton.find_matches_as_indexes(data):
            if end - start >= _SAFE_ANYWHERE or _stands_alone(data, start, end):
                value, kind = self._owners[index]
                spans.append(Span(start, end, kind, value, RANK))
        return spans


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    before = start == 0 or data[start - 1] not in _WORD_SIGNS or _after_escape(data, start)
    after = end == len(data) or data[end] not in _WORD_SIGNS
    return before and after


def _after_escape(data: bytes, start: int) -> bool:
    """Whether the letter before is the end of a written-out escape such as a literal ``\\n``."""
    return start >= 2 and data[start - 2] == ord("\\") and data[start - 1] in b"nrtbf"
