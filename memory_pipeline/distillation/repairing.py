"""Takes out of a memory what does not hold: the value itself, a remark in brackets, or the sentence it stands in."""

from __future__ import annotations

import re

from memory_pipeline.distillation.claims import Word, words
from memory_pipeline.distillation.marks import long_words

FEWEST_WORDS = 4
"""Long words that the rest must hold to be a memory still."""

_BRACKETS = re.compile(r"\s?\([^()]{1,300}\)|\s?\[[^\[\]]{1,300}\]")
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.B)(?<!\bd\.h)[.!?…][\"'”’)\]`]{0,3}\s+(?=\S)|[。！？]")
_POINTING = frozenset(
    """
    it its this that these those they them their he she his her then there so also such both each otherwise
    instead das dies diese dieser dieses es sie er dort dafür damit deshalb daher sonst beide außerdem
    stattdessen
    """.split()  # noqa: SIM905
)
"""Words that open a sentence which says nothing without the one before it."""


def with_instead(text: str, word: Word, instead: str) -> str:
    return text[: word.start] + instead + text[word.end :]


def without(text: str, word: Word, *, unsaid: bool) -> str | None:
    """The text without the word and as little else as goes with it; None where nothing worth keeping is left."""
    rest = _without_brackets(text, word) or (unsaid and _without_name(text, word)) or _without_sentence(text, word)
    return rest if rest and len(long_words(rest)) >= FEWEST_WORDS else None


def _without_brackets(text: str, word: Word) -> str | None:
    for brackets in _BRACKETS.finditer(text):
        if brackets.start() < word.start and word.end < brackets.end():
            return (text[: brackets.start()] + text[brackets.end() :]).strip()
    return None


def _without_name(text: str, word: Word) -> str | None:
    """One part of a name of several, where the other parts do hold: the maker before the product."""
    if word.kind != "name" or not word.norm.isalpha():
        return None
    names = [one for one in words(text) if one.kind == "name" and one.norm.isalpha()]
    beside = (one.end + 1 == word.start or one.start == word.end + 1 for one in names)
    return " ".join((text[: word.start] + text[word.end :]).split()) if any(beside) else None


def _without_sentence(text: str, word: Word) -> str | None:
    ends = [end.end() for end in _END.finditer(text)]
    start = max((end for end in ends if end <= word.start), default=0)
    stop = min((end for end in ends if end > word.start), default=len(text))
    after = text[stop:].strip()
    opening = next(words(after), None)
    if opening is not None and opening.norm in _POINTING:
        return None
    return f"{text[:start].strip()} {after}".strip()
