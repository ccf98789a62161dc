"""What a sentence is worth remembering, from the names it brings, its wording and its place. No model, no language.

The weights and the gate were set by hand on labelled sessions and measured on unseen ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log1p

from memory_pipeline.distillation.marks import is_passing, long_words, named_things
from memory_pipeline.distillation.wording import (
    CUES,
    NEXT_STEPS,
    PROPOSALS,
    REFERENCES,
    ROUTINE,
    RULES,
    TALK,
    WONDERING,
)

PROPOSAL_COST = 1.3
_QUESTION = ("?", "？", "؟")

GATE = 3.5
"""What a turn must be worth, best sentences and request together; less keeps more facts, more: less junk."""
UNLISTED_GATE = 2.9
"""The same in a language that ``wording`` has no lists of."""
UNIT_FLOOR = 0.6
"""A unit below adds nothing to a memory."""
SECOND_WEIGHT = 0.4
"""How much the second best sentence counts beside the best: a finding takes two, routine seldom."""
ASK_WEIGHT = 1.4
"""How much a request counts beside what was answered, and below when nothing was."""
ASK_ALONE_WEIGHT = 1.6
PASSING_WEIGHT = 0.5
"""Of a count, an amount or a commit hash beside a real name."""
OLD_WORD_WEIGHT = 0.3
"""Of a word that the session has used before beside a new one."""


@dataclass(slots=True)
class Known:
    """What a session has spoken of so far: its names (lower case) and its long words."""

    names: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def note(self, text: str) -> None:
        self.names |= named_things(text).keys()
        self.words |= long_words(text)


def unit_value(text: str, known: Known, *, first: bool) -> float:
    """Value of a sentence of the assistant's."""
    names = named_things(text).keys()
    value = log1p(_weight(names - known.names)) + 0.4 * log1p(_weight(names)) + 0.5 * log1p(min(30, _news(text, known)))
    value += 0.5 * min(2, len({cue.lower() for cue in CUES.findall(text)}))
    value += 0.4 * first
    value -= 2.0 * is_talk(text)
    value -= 1.5 * text.endswith(_QUESTION)
    value -= 0.8 * bool(ROUTINE.search(text))
    return value - PROPOSAL_COST * is_proposal(text)


def ask_value(text: str, known: Known) -> float:
    """Value of a sentence of the user's."""
    names = named_things(text).keys()
    undecided = bool(WONDERING.search(text) or NEXT_STEPS.match(text))
    rules = 0 if undecided else len({rule.lower() for rule in RULES.findall(text)})
    value = 0.8 * min(3, rules) + 0.6 * log1p(_weight(names - known.names)) + 0.5 * log1p(_news(text, known))
    return value - 0.3 * text.endswith(_QUESTION) - 0.8 * undecided


def answer_value(units: Iterable[float]) -> float:
    """Value of all that was answered."""
    best, second, *_ = *sorted(units, reverse=True), 0.0, 0.0
    return best + SECOND_WEIGHT * max(0.0, second)


def is_talk(text: str) -> bool:
    """Whether an assistant only says what it does next."""
    return bool(TALK.match(text) or NEXT_STEPS.match(text)) or text.endswith((":", "："))


def is_proposal(text: str) -> bool:
    """Whether it says what may be done, or asks whether to."""
    return bool(PROPOSALS.search(text))


def leaves_open(answer: Sequence[tuple[str, float]]) -> bool:
    """Whether an answer (its sentences and their values) comes to a proposal, or to a choice for the user to make: it
    opens with one, or consists of them for the most part, what is routine or talk aside.
    """
    telling = [
        is_proposal(text)
        for text, value in answer
        if value + PROPOSAL_COST * is_proposal(text) >= UNIT_FLOOR and not is_talk(text)
    ]
    return bool(telling) and (telling[0] or 2 * sum(telling) > len(telling))


def refers_back(text: str) -> bool:
    """Whether a sentence is understood only after the one before."""
    return bool(REFERENCES.match(text))


def _news(text: str, known: Known) -> float:
    """How many words it has, those that the session has used before counted for less."""
    words = long_words(text)
    return len(words - known.words) + OLD_WORD_WEIGHT * len(words & known.words)


def _weight(names: Iterable[str]) -> float:
    return sum(PASSING_WEIGHT if is_passing(name) else 1.0 for name in names)
