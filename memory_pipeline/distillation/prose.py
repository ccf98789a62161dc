"""Finds the prose of a message: which of its lines were written as sentences, and which are code, data or layout.

Lines are (start, end) stretches of the message, so that whatever is built of them can be quoted verbatim.
Every pattern is bounded, so hostile text costs time in proportion to its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict

HEAD_CHARS = TAIL_CHARS = 4_000
"""What is read of a long message: the beginning and the end of its prose."""

ALIKE_LINES = 3
SHAPE_CHARS = 16
"""So many lines whose beginnings differ only in their numbers were not typed."""

Line = tuple[int, int]

_FENCE = re.compile(r"\s{0,40}(?:```|~~~)")
_LAYOUT = re.compile(
    r"""\s{0,40}(?:
        \#{1,6}\s | [|>] | [-=*_\s]{3,}$                            # heading, table or quote, rule
      | </?[A-Za-z][^<>\n]{0,300}>\s*$                              # a tag alone
      | \*\*[^*\n]{1,120}\*\*:?\s*$ | __[^_\n]{1,120}__:?\s*$       # a line in bold is a heading too
      | [$%]\s\S | \w[\w.-]{0,40}@[\w.-]{1,60}:\S{0,200}[$\#]\s     # shell prompts
      | at\s\S{1,200}.{0,200}:\d+ | File\s".{1,200}",\sline\s\d | Traceback\s\(
    )""",
    re.VERBOSE,
)
_PASTED = re.compile(
    r"""\s{0,40}(?:
        [{}<\[] | // | /\*
      | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d
      | [A-Z][a-z]{2}\s{1,2}\d{1,2}\s(?:\d\d:\d\d | \S{1,60}\s\S{1,60}\[\d)                # syslog
      | \[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b
      | .{0,300}[;{}]\s*$
    )""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[0-9]{1,40}")
_OPENING_TAG = re.compile(r"\s{0,40}<([A-Za-z][\w-]{0,63})(?:\s[^<>\n]{0,300})?>")
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w-]{0,63})>")


def prose(text: str) -> list[list[Line]]:
    """The lines of prose, in one part, or two where a long message is read at its ends only.

    A blank line stands for what was left out: code fences, ``<tag>`` blocks, headings, tables, quotes, shell lines,
    stack traces.
    """
    return _ends(_lines(text))


def typed_prose(text: str) -> list[list[Line]]:
    """The same of what a user typed: lines that look pasted (code, logs, data) are left out too."""
    lines = _lines(text)
    shapes = [_shape(text[a:b]) for a, b in lines]
    common = {shape for shape, times in Counter(shapes).items() if shape and times >= ALIKE_LINES}
    return _ends(
        [
            (a, a if shape in common or _looks_pasted(text[a:b]) else b)
            for (a, b), shape in zip(lines, shapes, strict=True)
        ]
    )


def _lines(text: str) -> list[Line]:
    closing: dict[str, list[int]] = defaultdict(list)
    for tag in _CLOSING_TAG.finditer(text):
        closing[tag[1]].append(tag.end())
    kept: list[Line] = []
    fenced = False
    start = resume = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if line.isspace():
            kept.append((end, end))
            start = end
            continue
        opening = _OPENING_TAG.match(line)
        if opening and not fenced and start >= resume:
            ends = closing[opening[1]]
            at = bisect_right(ends, start)
            resume = ends[at] if at < len(ends) else resume
        if start < resume:
            kept.append((min(resume, end), end))
        elif _FENCE.match(line):
            fenced = not fenced
            kept.append((end, end))
        else:
            kept.append((end if fenced or _LAYOUT.match(line) else start, end))
        start = end
    return kept


def _shape(line: str) -> str:
    """How a line with numbers begins, whatever they are; empty where it has none there."""
    shape = _NUMBER.sub("0", line.strip()[: 4 * SHAPE_CHARS])[:SHAPE_CHARS]
    return shape if "0" in shape[1:] else ""


def _looks_pasted(line: str) -> bool:
    if _PASTED.match(line):
        return True
    letters = sum(c.isalpha() or c.isspace() for c in line)
    return len(line) > 20 and letters < 0.7 * len(line)


def _ends(lines: list[Line]) -> list[list[Line]]:
    if sum(b - a for a, b in lines) <= HEAD_CHARS + TAIL_CHARS:
        return [lines]
    head: list[Line] = []
    room = HEAD_CHARS
    for start, end in lines:
        head.append((start, min(end, start + room)))
        room -= end - start
        if room <= 0:
            break
    tail: list[Line] = []
    room = TAIL_CHARS
    for start, end in reversed(lines):
        tail.append((max(start, end - room), end))
        room -= end - start
        if room <= 0:
            break
    return [head, tail[::-1]]
