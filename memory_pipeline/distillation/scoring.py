"""What a sentence is worth remembering, from the names it brings, its wording and its place. No model, no language.

The weights and the gate were set by hand on labelled sessions and measured on unseen ones.
"""

from __future__ import annotations

from collections.abc import Set
from math import log1p

from memory_pipeline.distillation.marks import long_words, named_things
from memory_pipeline.distillation.wording import CUES, ROUTINE, RULES, TALK

GATE = 3.6
"""What a turn must be worth, best unit and request together; 3.2 keeps more facts, 4.0 less junk."""
UNIT_FLOOR = 0.6
"""A unit below adds nothing to a memory."""
ASK_WEIGHT = 1.4
"""How much a request counts beside what was answered, and below when nothing was."""
ASK_ALONE_WEIGHT = 1.6


def unit_value(text: str, *, first: bool, known: Set[str]) -> float:
    """Value of a sentence of the assistant's; ``known`` are the names (lower case) met before this turn."""
    names = named_things(text).keys()
    value = log1p(len(names - known)) + 0.4 * log1p(len(names)) + 0.5 * log1p(min(30, len(long_words(text))))
    value += 0.5 * min(2, len({cue.lower() for cue in CUES.findall(text)}))
    value += 0.4 * first
    value -= 2.0 * is_talk(text)
    value -= 1.5 * text.endswith("?")
    value -= 0.8 * bool(ROUTINE.search(text))
    return value


def ask_value(text: str, *, known: Set[str]) -> float:
    """Value of a sentence of the user's."""
    names = named_things(text).keys()
    rules = len({rule.lower() for rule in RULES.findall(text)})
    value = 0.8 * min(3, rules) + 0.6 * log1p(len(names - known)) + 0.5 * log1p(len(long_words(text)))
    return value - 0.3 * text.endswith("?")


def is_talk(text: str) -> bool:
    """Whether an assistant only says what it does next."""
    return bool(TALK.match(text)) or text.endswith(":")
