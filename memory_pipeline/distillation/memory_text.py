"""Puts a memory together from the best units of what was said and from what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_pipeline.distillation.said import Said
from memory_pipeline.distillation.units import Unit, count_sentences

MEMORY_CHARS = 400
MEMORY_SENTENCES = 3
ASK_CHARS = 170
ASK_FLOOR = 0.5
"""A sentence of the user's below says nothing that is worth repeating beside another one."""
OWN_WORDS_CHARS = 380
SOURCE_CHARS = 500
"""Longest evidence that is kept of one unit."""


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


def best(units: Iterable[Valued], *, chars: int, sentences: int, floor: float) -> tuple[Valued, ...]:
    """The most valuable units that fit, in their own order; the best of all always."""
    numbered = list(enumerate(units))
    chosen: list[tuple[int, Valued]] = []
    for place, part in sorted(numbered, key=lambda pair: -pair[1].value):
        cost = count_sentences(part.unit.text)
        if chosen and (part.value < floor or len(part.unit.text) + 2 > chars or cost > sentences):
            continue
        chosen.append((place, part))
        chars -= len(part.unit.text) + 2
        sentences -= cost
    return tuple(part for _, part in sorted(chosen, key=lambda pair: pair[0]))


def outcome(units: Sequence[Valued], asks: Sequence[Valued], *, floor: float) -> Composed:
    """What the assistant said came of it, and what the user had asked for, in brackets."""
    asked = best(asks, chars=ASK_CHARS, sentences=2, floor=ASK_FLOOR) if asks else ()
    request = cut("; ".join(part.unit.text.rstrip(".!? ") for part in asked), ASK_CHARS)
    ending = f" (asked: {request})" if request else ""
    room = MEMORY_CHARS - len(ending)
    parts = best(units, chars=room, sentences=MEMORY_SENTENCES - bool(ending), floor=floor)
    return Composed(cut(joined(parts), room) + ending, (*parts, *asked))


def own_words(asks: Sequence[Valued]) -> Composed:
    """A memory of nothing but the user's words."""
    parts = best(asks, chars=OWN_WORDS_CHARS, sentences=MEMORY_SENTENCES, floor=ASK_FLOOR)
    return Composed(f"User: {cut(joined(parts), OWN_WORDS_CHARS)}", parts)


def joined(parts: Sequence[Valued]) -> str:
    """The units one after the other, each ended so that the next one is not read as its continuation."""
    texts = [part.unit.text for part in parts]
    ended = [text if text[-1] in ".!?…:;" else f"{text}." for text in texts[:-1]]
    return " ".join([*ended, *texts[-1:]])


def cut(text: str, chars: int) -> str:
    """The text, or as many of its whole words as fit."""
    if len(text) <= chars:
        return text
    head = text[: chars - 1]
    return (head[: head.rfind(" ")] if " " in head[chars // 2 :] else head).rstrip(" ,;:") + "…"
