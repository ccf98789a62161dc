"""Finds what a memory rests on: the quotes it names where they stand in the turn, else sentences that bear it out."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from memory_pipeline.distillation.claims import words
from memory_pipeline.distillation.folding import Folded, fold
from memory_pipeline.distillation.instructions import orders_in
from memory_pipeline.distillation.marks import long_words
from memory_pipeline.distillation.said import Said

ENOUGH_SHARE = 0.4
"""How much of a memory's names and long words the sentences found for it must hold together."""
MOST_SENTENCES = 3
FEWEST_SHARED = 2
"""How many of them each of these sentences must hold: one common word happens to be in any sentence."""

LONGEST_SENTENCE = 600
"""Characters; what goes on longer without an end is cut, being no sentence."""

_LABEL = re.compile(r"\s*(?:User(?: runs bash)?|Assistant(?: calls \S{1,60})?|Tool(?: \S{1,60})?):\s")
"""How the transcript that a model was shown names the speaker."""
_FENCED_OR_QUOTED = re.compile(
    r"^[ \t]{0,20}(```|~~~).*?(?:^[ \t]{0,20}\1|\Z)|^[ \t]{0,20}>[^\n]*$", re.DOTALL | re.MULTILINE
)
_IN_QUOTES = re.compile(r'"[^"\n]{32,600}"')
MOST_HANDED_ON = 0.6
"""Share of a quote from which it is not its speaker's own any more."""
_STEM = 5
"""Letters by which words count as the same, whatever their endings."""
_END = re.compile(r"[.!?…][\"'”’)\]*`]{0,3}\s|[。！？]|\n")


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch of a message, as it stands there."""

    said: Said
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.said.text[self.start : self.end]


class Quotable:
    """A message in which quotes can be looked up. ``read``: what tools printed and users pasted, as ``plain`` text."""

    def __init__(self, said: Said, read: str = "") -> None:
        self.said = said
        self._read = read

    @cached_property
    def _folded(self) -> Folded:
        return Folded(self.said.text)

    @cached_property
    def sentences(self) -> list[Quote]:
        return list(_sentences(self.said))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The beginnings of its long words."""
        return frozenset(word[:_STEM] for word in long_words(self.said.text))

    @cached_property
    def own_words(self) -> str:
        """The text without what its speaker only handed on."""
        kept: list[str] = []
        after = 0
        for start, end in self.handed_on:
            kept.append(self.said.text[after : max(start, after)])
            after = max(end, after)
        return "\n".join([*kept, self.said.text[after:]])

    def is_own(self, quote: Quote) -> bool:
        """Whether most of the quote is the speaker's own and not handed on."""
        inside = sum(max(0, min(end, quote.end) - max(start, quote.start)) for start, end in self.handed_on)
        return inside < MOST_HANDED_ON * (quote.end - quote.start)

    @cached_property
    def handed_on(self) -> list[tuple[int, int]]:
        """What the speaker wrote down but did not say: of users, code fences, quoted lines and orders to agents; of
        assistants, what they quote word for word of what they read."""
        if self.said.role == "user":
            fenced = (found.span() for found in _FENCED_OR_QUOTED.finditer(self.said.text))
            return sorted([*fenced, *orders_in(self.said.text)])
        if self.said.role == "assistant" and self._read:
            quoted = _IN_QUOTES.finditer(fold(self.said.text))
            return [found.span() for found in quoted if plain(found[0][1:-1]).strip(" .,;:") in self._read]
        return []

    def quotes(self, quote: str) -> list[Quote]:
        """The quote, in its parts between elisions; empty where it does not occur."""
        return [Quote(self.said, start, end) for start, end in self._folded.find(quote)]

    def around(self, quote: Quote) -> Quote:
        """The quote with the rest of the sentences that it begins and ends in."""
        first = bisect_right(self._ends, quote.start)
        last = bisect_left(self._starts, quote.end) - 1
        if first > last:
            return quote
        return Quote(self.said, self.sentences[first].start, self.sentences[last].end)

    @cached_property
    def _starts(self) -> list[int]:
        return [one.start for one in self.sentences]

    @cached_property
    def _ends(self) -> list[int]:
        return [one.end for one in self.sentences]


def plain(text: str) -> str:
    """Folded, in one line."""
    return " ".join(fold(text).split())


def find_quotes(evidence: Sequence[str], messages: Sequence[Quotable]) -> list[Quote]:
    """Those of the quotes that occur in a message, each where it occurs first, without repeats."""
    found: dict[Quote, None] = {}
    for quote in evidence:
        text = _LABEL.sub("", quote, count=1)
        found.update(dict.fromkeys(next(filter(None, (message.quotes(text) for message in messages)), [])))
    return list(found)


def find_support(summary: str, messages: Sequence[Quotable]) -> list[Quote]:
    """The sentences that say most of what the summary says, at most three; empty where too little is borne out."""
    names = {word.norm for word in words(summary) if word.kind != "word" and not word.initial}
    wanted = names | long_words(summary)
    held_by = ((_shared(one.text, names, wanted), one, message) for message in messages for one in message.sentences)
    shared = [(held, one) for held, one, by in held_by if len(held) >= FEWEST_SHARED and by.is_own(one)]
    chosen: list[Quote] = []
    covered: set[str] = set()
    while shared and len(chosen) < MOST_SENTENCES:
        held, one = max(shared, key=lambda pair: len(pair[0] - covered))
        if len(held - covered) < FEWEST_SHARED:
            break
        chosen.append(one)
        covered |= held
    return chosen if covered and len(covered) >= ENOUGH_SHARE * len(wanted) else []


def speaks_of(summary: str, quotes: Sequence[Quote]) -> bool:
    """Whether the quotes share a name or a long word with the summary at all."""
    stems = {word[:_STEM] for word in _content(summary)}
    return not stems or any(word[:_STEM] in stems for quote in quotes for word in _content(quote.text))


def _content(text: str) -> Set[str]:
    return long_words(text) | {word.norm for word in words(text) if word.kind != "word"}


def _shared(text: str, names: Set[str], wanted: Set[str]) -> set[str]:
    folded = fold(text)
    return {name for name in names if name in folded} | (wanted & long_words(text))


def _sentences(said: Said) -> Iterator[Quote]:
    start = 0
    for end in [*(match.end() for match in _END.finditer(said.text)), len(said.text)]:
        while start < end:
            cut = end
            if end - start > LONGEST_SENTENCE:
                space = said.text.rfind(" ", start + 1, start + LONGEST_SENTENCE)
                cut = space if space > start else start + LONGEST_SENTENCE
            piece = said.text[start:cut]
            stripped = piece.strip()
            if any(map(str.isalnum, stripped)):
                begin = start + len(piece) - len(piece.lstrip())
                yield Quote(said, begin, begin + len(stripped))
            start = cut
