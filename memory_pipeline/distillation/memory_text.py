"""Puts a memory together from the best units of what was said and from what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_pipeline.distillation.said import Said
from memory_pipeline.distillation.scoring import refers_back
from memory_pipeline.distillation.units import Unit, count_sentences

MEMORY_CHARS = 400
MEMORY_SENTENCES = 3
ASK_CHARS = 170
ASK_FLOOR = 0.5
"""A sentence of the user's below says nothing that is worth repeating beside another one."""
OWN_WORDS_CHARS = 380
CONTEXT_FLOOR = 0.0
"""A sentence of less value, such as progress talk, is no help to understand the next one."""
SOURCE_CHARS = 500
"""Longest evidence that is kept of one unit."""
_STOPS = ".!?。！？।؟۔ "
_WIDE_ENDS = "。！？：；"
_ENDS = ".!?…:;।؟۔" + _WIDE_ENDS


@dataclass(frozen=True, slots=True)
class Valued:
    """A unit, what it is worth, and the message it stands in."""

    unit: Unit
    value: float
    message: Said


@dataclass(frozen=True, slots=True)
class Composed:
    """A memory's text and the units it was made of, in order."""

    text: str
    parts: tuple[Valued, ...]


def best(units: Sequence[Valued], *, floor: float, chars: int, sentences: int, ending: str = "") -> tuple[Valued, ...]:
    """The most valuable units that make one text within the bounds, in their own order; the best of all always.

    A sentence that refers to the one before it brings that one along where both fit.
    """
    chosen: set[int] = set()

    def fits(places: set[int]) -> bool:
        text = _ended(joined([units[place] for place in sorted(places)]), ending)
        return len(text) <= chars and count_sentences(text) <= sentences

    for place in sorted(range(len(units)), key=lambda place: -units[place].value):
        if chosen and units[place].value < floor:
            break
        before = place - 1
        leaning = before >= 0 and units[before].value >= CONTEXT_FLOOR and refers_back(units[place].unit.text)
        if leaning and fits(chosen | {before, place}):
            chosen |= {before, place}
        elif not chosen or fits(chosen | {place}):
            chosen.add(place)
    return tuple(units[place] for place in sorted(chosen))


def outcome(units: Sequence[Valued], asks: Sequence[Valued], *, floor: float) -> Composed:
    """What the assistant said came of it, and what the user had asked for, in brackets."""
    asked = best(asks, floor=ASK_FLOOR, chars=ASK_CHARS, sentences=2) if asks else ()
    request = cut("; ".join(part.unit.text.rstrip(_STOPS) for part in asked), ASK_CHARS)
    ending = f" (asked: {request})" if request else ""
    parts = best(units, floor=floor, chars=MEMORY_CHARS, sentences=MEMORY_SENTENCES, ending=ending)
    text = cut(joined(parts), MEMORY_CHARS - len(ending))
    return Composed(_ended(text, ending), (*parts, *asked))


def own_words(asks: Sequence[Valued]) -> Composed:
    """A memory of nothing but the user's words."""
    parts = best(asks, floor=ASK_FLOOR, chars=OWN_WORDS_CHARS, sentences=MEMORY_SENTENCES)
    return Composed(f"User: {cut(joined(parts), OWN_WORDS_CHARS)}", parts)


def joined(parts: Sequence[Valued]) -> str:
    """The units one after the other, each ended so that the next one is not read as its continuation; the items of one
    list make one sentence.
    """
    text = ""
    before: Unit | None = None
    for part in parts:
        unit = part.unit
        if before is None:
            text = unit.text
        elif unit.item and unit.group == before.group and not text.endswith((":", "：")):
            text = f"{text.rstrip('.;,')}; {unit.text}"
        else:
            text = f"{text}{'' if text[-1] in _ENDS else '.'}{'' if text[-1] in _WIDE_ENDS else ' '}{unit.text}"
        before = unit
    return text


def _ended(text: str, ending: str) -> str:
    """The request belongs to the last sentence, not behind its end."""
    return text.rstrip(_STOPS) + ending if ending else text


def cut(text: str, chars: int) -> str:
    """The text, or as many of its whole words as fit."""
    if len(text) <= chars:
        return text
    head = text[: chars - 1]
    return (head[: head.rfind(" ")] if " " in head[chars // 2 :] else head).rstrip(" ,;:") + "…"
