"""Cuts prose into units: sentences and list items, each with its verbatim source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from memory_pipeline.distillation.prose import Line, prose, typed_prose

UNIT_CHARS = 240
UNIT_SENTENCES = 2
"""How long a list item may be that stays whole, and a lead-in ending in ":" with the items it takes."""


@dataclass(frozen=True, slots=True)
class Unit:
    """``text`` is one line without emphasis; ``source`` is the message's own wording.

    ``group`` is the number of its paragraph or list; a list belongs to the lead-in right before it.
    """

    text: str
    source: str
    group: int
    item: bool


@dataclass(frozen=True, slots=True)
class _Block:
    """The stretch of a paragraph, or of a list item that is indented so far."""

    start: int
    end: int
    indent: int | None


_ITEM = re.compile(r"(\s{0,40})(?:[-*+•]|\d{1,3}[.)])\s{1,8}(?=\S)")
_WRAPPED = re.compile(r"\s{2}|[a-zà-öø-ÿ(]")
_COLONS = (":", "：")
_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*")
_PROTECTED = re.compile(
    r"""`[^`]{1,200}` | "[^"]{1,200}" | “[^”]{1,200}” | „[^“”]{1,200}[“”] | (?<!\w)'[^']{1,80}'(?!\w)
      | «[^«»]{1,200}» | 「[^「」]{1,200}」 | 『[^『』]{1,200}』 | （[^（）]{1,200}）
      | \([^()]{1,200}\) | \[[^\[\]]{1,200}\] | https?://\S{1,300}?(?=[.,;:!?)]{0,3}(?:\s|$))""",
    re.VERBOSE,
)
_STOP = re.compile(r"[.!?…؟۔।።][*_)\]\"”’»]{0,3}\s+(?=\S)|[。！？｡][*_)\]\"”’」』）]{0,3}\s*(?=\S)")
_ABBREVIATION = re.compile(
    r"(?<![\w.])(?:(?<!\d\s)\w|e\.g|i\.e|etc|vs|cf|approx|ca|no|fig|dr|mr|mrs|ms|st|z\.\s?b|d\.\s?h|u\.\s?a|bzw|evtl|ggf|inkl|nr|usw|vgl)\.$",
    re.IGNORECASE,
)
_SHORT_NUMBER = re.compile(r"(?:^|\s)\d{1,2}\.$")
_MONTH = re.compile(r"jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez", re.IGNORECASE)


def units(text: str) -> list[Unit]:
    """The units of what an assistant wrote, in order."""
    return [unit for part in prose(text) for unit in _units(text, _blocks(text, part))]


def typed_units(text: str) -> list[Unit]:
    """The units of what a user typed, in order."""
    return [unit for part in typed_prose(text) for unit in _units(text, _blocks(text, part))]


def count_sentences(text: str) -> int:
    return len(_sentences(text, 0, len(text)))


def sentences(text: str) -> list[str]:
    """The sentences of a text in one line, in order, without the blanks between them."""
    return [text[a:b].strip() for a, b in _sentences(text, 0, len(text))]


def _blocks(text: str, lines: list[Line]) -> list[_Block]:
    """Paragraphs and list items. A line directly below continues a paragraph; an item only if it looks wrapped."""
    blocks: list[_Block] = []
    open_at = -1
    for start, end in lines:
        item = _ITEM.match(text, start, end)
        if item:
            blocks.append(_Block(item.end(), end, len(item[1].expandtabs(4))))
        elif not text[start:end].strip():
            open_at = -1
            continue
        elif start == open_at and (blocks[-1].indent is None or _WRAPPED.match(text, start, end)):
            blocks[-1] = _Block(blocks[-1].start, end, blocks[-1].indent)
        else:
            blocks.append(_Block(start, end, None))
        open_at = end
    return blocks


def _units(text: str, blocks: list[_Block]) -> Iterator[Unit]:
    at = group = 0
    leads_in = False
    while at < len(blocks):
        block = blocks[at]
        at += 1
        item = block.indent is not None
        group += not (item and leads_in)
        *parts, (start, end) = _parts(text, block)
        yield from (Unit(_one_line(text[a:b]), text[a:b].strip(), group, item) for a, b in parts)
        unit = Unit(_one_line(text[start:end]), text[start:end].strip(), group, item)
        leads_in = item or unit.text.endswith(_COLONS)
        for below in _deeper_items(block, blocks[at:]) if unit.text.endswith(_COLONS) else ():
            separator = "" if unit.text.endswith(_COLONS) else ";"
            longer = f"{unit.text}{separator} {_one_line(text[below.start : below.end]).rstrip('.;,')}"
            if len(longer) > UNIT_CHARS or count_sentences(longer) > UNIT_SENTENCES:
                break
            unit = Unit(longer, text[start : below.end].strip(), group, item)
            at += 1
        yield unit


def _parts(text: str, block: _Block) -> list[tuple[int, int]]:
    """A list item stays whole unless it is long; a paragraph falls into its sentences."""
    sentences = _sentences(text, block.start, block.end)
    if block.indent is not None and block.end - block.start <= UNIT_CHARS and len(sentences) <= UNIT_SENTENCES:
        return [(block.start, block.end)]
    return sentences


def _deeper_items(lead_in: _Block, after: list[_Block]) -> Iterator[_Block]:
    """The list items right after a lead-in; of an item, those below it."""
    return takewhile(lambda b: b.indent is not None and (lead_in.indent is None or b.indent > lead_in.indent), after)


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Stretches of sentences. Ends are not looked for inside code, quotes, brackets, addresses, abbreviations."""
    piece = text[start:end].replace("\n", " ")
    masked = _PROTECTED.sub(lambda span: "x" * len(span[0]), piece)
    found: list[tuple[int, int]] = []
    begin = 0
    for stop in _STOP.finditer(masked):
        before = piece[max(begin, stop.start() - 12) : stop.start() + 1]
        if not _ABBREVIATION.search(before) and not _is_ordinal(before, piece[stop.end() : stop.end() + 4]):
            found.append((start + begin, start + stop.end()))
            begin = stop.end()
    return [*found, (start + begin, end)]


def _is_ordinal(before: str, after: str) -> bool:
    """Whether a number's dot ends no sentence: "12. April", "am 3. mal", but "port 22. The"."""
    return bool(_SHORT_NUMBER.search(before) and (after[0].islower() or _MONTH.match(after)))


def _one_line(text: str) -> str:
    return " ".join(_BOLD.sub(r"\1", text).split())
