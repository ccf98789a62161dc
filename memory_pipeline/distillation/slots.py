"""Whether a value stands where the turn has another: compares what is around it in a memory and in the turn.

A value taken from elsewhere in the same turn occurs there, but beside other words. So each value of a memory is
compared with its own places in the turn and with the places of the values that the memory leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from memory_pipeline.distillation.claims import Word, words

_WINDOW = 110
"""Characters looked at before and behind a place, within its line."""
_REACH = 8
"""Words looked at before and behind a value."""
_PLACES = 40
"""Places looked at of one value; hostile text may hold thousands."""
_STEM = 5
"""Letters by which words count as the same, whatever their endings."""
_NAME_WEIGHT, _WORD_WEIGHT, _SMALL_WEIGHT = 1.3, 1.0, 0.4


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A word beside a value, ``offset`` words away."""

    stem: str
    offset: int
    weight: float


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a folded text."""

    text: str
    at: int


def family(word: Word) -> str:
    """What a value could be mistaken for: others of the same family."""
    if word.kind == "number":
        if re.search(r"\d:\d\d", word.norm):
            return "time"
        return "date" if re.search(r"\d-\d\d", word.norm) else "number"
    return "path" if word.kind == "path" or "." in word.norm.strip(".") else "name"


def are_related(one: str, other: str) -> bool:
    """Whether two names may be two forms of one: a path and its end, a compound and its part, singular and plural."""
    if one in other or other in one:
        return True
    pieces, others = (set(re.findall(r"[^\W_]+", name)) for name in (one, other))
    return bool(pieces) and bool(others) and (pieces <= others or others <= pieces)


def neighbours(sentence_words: Sequence[Word], at: int, *, across: bool = False) -> list[Neighbour]:
    """The words around the one at index ``at``, of its own sentence only unless ``across``."""
    here = sentence_words[at]
    first = max(0, at - _REACH)
    return [
        Neighbour(_stem(word), first + index - at, _weight(word))
        for index, word in enumerate(sentence_words[first : at + _REACH + 1])
        if word.norm != here.norm and (across or word.sentence == here.sentence)
    ]


def fit(mine: Sequence[Neighbour], places: Iterable[Place]) -> float:
    """How well the surroundings of a value agree with the best of these places; 0 for not at all."""
    return max((_closeness(mine, _around(place)) for place in islice(places, _PLACES)), default=0.0)


def _around(place: Place) -> list[Neighbour]:
    text, at = place.text, place.at
    start = max(text.rfind("\n", 0, at) + 1, at - _WINDOW)
    stop = text.find("\n", at, at + _WINDOW)
    near = list(words(text[start : stop if stop >= 0 else at + _WINDOW]))
    here = next((index for index, word in enumerate(near) if start + word.end > at), None)
    return [] if here is None else neighbours(near, here, across=True)


def _closeness(mine: Sequence[Neighbour], theirs: Sequence[Neighbour]) -> float:
    """The shared neighbours, each by its weight, the less the farther away and the more its distance differs."""
    nearness: dict[str, list[int]] = {}
    for neighbour in theirs:
        nearness.setdefault(neighbour.stem, []).append(neighbour.offset)
    return sum(
        one.weight * max(_nearness(one.offset, other) for other in nearness[one.stem])
        for one in mine
        if one.stem in nearness
    )


def _nearness(one: int, other: int) -> float:
    return 1 / (1 + 0.2 * abs(one - other)) / (1 + 0.12 * min(abs(one), abs(other)))


def _stem(word: Word) -> str:
    return word.norm[:_STEM] if word.norm.isalpha() else word.norm


def _weight(word: Word) -> float:
    if word.kind != "word":
        return _NAME_WEIGHT
    return _WORD_WEIGHT if len(word.norm) > 3 else _SMALL_WEIGHT
