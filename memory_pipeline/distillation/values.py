"""Holds each name and value of a memory against its turn: what was never said, and what was said of something else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from memory_pipeline.distillation.citing import Quotable, Quote
from memory_pipeline.distillation.claims import Word, words
from memory_pipeline.distillation.folding import fold
from memory_pipeline.distillation.lexicon import is_name, is_ordinary
from memory_pipeline.distillation.marks import long_words
from memory_pipeline.distillation.occurring import Occurring
from memory_pipeline.distillation.slots import Place, are_related, family, fit, neighbours

Where = Literal["quoted", "said", "heard"]

_MARGINS: dict[Where, tuple[float, float]] = {"quoted": (1.0, 1.5), "said": (0.5, 1.8), "heard": (0.5, 0.6)}
"""By how much another value must fit better before a value counts as misplaced: one that the memory's quotes hold, one
of the rest of the turn. The less a value's own place speaks for it, the less it takes."""
_USED = 0.8
"""What is added to these margins where the memory holds the other number too, in its own place most likely. A name that
it holds is no rival at all: names stand beside one another, numbers seldom do."""
_LEAST_FIT: dict[tuple[Where, str], float] = {
    ("said", "number"): 0.6,
    ("heard", "number"): 0.6,
    ("heard", "path"): 0.3,
}
"""How well a value that is not quoted must fit in its own places at least: numbers occur anywhere."""
_SURE = 2.5
"""The margin from which the other value is put in the place of a misplaced one."""
_FITTING, _LEAD = 1.5, 0.7
"""How well a quoted value must fit in the place of one that nobody said, and by how much better than the next."""
_ALIKE = 0.74
"""Likeness (0 to 1) of a slip: ``4137`` for ``4173``."""
_MOST_PLACES = 8
"""Places of one such value that are compared."""
_MOST_SENTENCES = 12
"""Sentences of the turn, beside those that are cited, that other values are taken from."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A word of a memory that does not hold; ``instead`` is what the quotes have in its place, where that is clear."""

    word: Word
    unsaid: bool
    instead: str | None


@dataclass(frozen=True, slots=True)
class _Rival:
    """A value where it stands in the turn; ``used``: the memory names it as well."""

    text: str
    place: Place
    quoted: bool
    used: bool


class Turn:
    """What names and values are held against. ``known``: names that need not be said, such as the project's."""

    def __init__(self, spoken: Sequence[Quotable], heard: Sequence[Quotable], known: Collection[str]) -> None:
        self.spoken = spoken
        self._heard = heard
        self._known = Occurring(known)

    def faults(self, summary: str, quotes: Sequence[Quote], language: str) -> list[Fault]:
        """The names and values of the summary that do not hold, in order; ``quotes`` are whole sentences."""
        mine = list(words(summary))
        quoted = Occurring(quote.text for quote in quotes)
        rivals = self._rivals(summary, quotes, {word.norm for word in mine}, language)
        faults = (
            self._fault(mine, at, quoted, rivals, language) for at, word in enumerate(mine) if is_name(word, language)
        )
        return [fault for fault in faults if fault is not None]

    def rests_on_tools(self, summary: str, language: str) -> bool:
        """Whether a name or value of the summary stands in nothing but what tools printed."""
        return any(
            not any(_occurs(word, text, language) for text in (self._said, self._known, self._written))
            for word in words(summary)
            if is_name(word, language)
        )

    def _fault(
        self,
        mine: Sequence[Word],
        at: int,
        quoted: Occurring,
        rivals: dict[str, dict[str, list[_Rival]]],
        language: str,
    ) -> Fault | None:
        word = mine[at]
        if self._known.has(word):
            return None
        around = neighbours(mine, at)
        fits = sorted(
            (
                (fit(around, [rival.place]), rival)
                for norm, places in rivals.get(family(word), {}).items()
                if not _same(word, norm)
                for rival in places
            ),
            key=lambda pair: pair[0],
            reverse=True,
        )
        where: Where
        if _occurs(word, self._said, language):
            where, text = "quoted" if _occurs(word, quoted, language) else "said", self._said
        elif _occurs(word, self._heard_text, language):
            where, text = "heard", self._heard_text
        else:
            return Fault(word, True, _slip(word, fits) or _fitting(fits))
        places = [Place(text.folded, place) for place in text.some_places(word)]
        if not places:
            return None
        own = fit(around, places)
        near, wide = _MARGINS[where]
        for fitting, rival in fits:
            lead = fitting - own - (_USED if rival.used else 0)
            if lead > (near if rival.quoted else wide):
                return Fault(word, False, rival.text if rival.quoted and lead > _SURE else None)
        return Fault(word, False, None) if own < _LEAST_FIT.get((where, word.kind), 0) else None

    def _rivals(
        self, summary: str, quotes: Sequence[Quote], used: Collection[str], language: str
    ) -> dict[str, dict[str, list[_Rival]]]:
        """Names and values of the cited sentences, and of others like the summary: family → norm → places."""
        found: dict[str, dict[str, list[_Rival]]] = defaultdict(lambda: defaultdict(list))
        for sentence in dict.fromkeys([*quotes, *self._like(summary)]):
            folded = self._folded(sentence)
            for word in words(sentence.text):
                if is_name(word, language) and (word.norm not in used or word.kind == "number"):
                    text = sentence.text[word.start : word.end]
                    place = Place(folded, sentence.start + word.start)
                    rivals = found[family(word)][word.norm]
                    if len(rivals) < _MOST_PLACES:
                        rivals.append(_Rival(text, place, sentence in quotes, word.norm in used))
        return found

    def _like(self, summary: str) -> Iterable[Quote]:
        """The sentences that share most words with the summary."""
        wanted = long_words(summary)
        shared = [(len(wanted & held), sentence) for held, sentence in self._sentences]
        shared.sort(key=lambda pair: pair[0], reverse=True)
        return (sentence for count, sentence in shared[:_MOST_SENTENCES] if count)

    @cached_property
    def _sentences(self) -> list[tuple[frozenset[str], Quote]]:
        return [(long_words(one.text), one) for message in self.spoken for one in message.sentences]

    def _folded(self, quote: Quote) -> str:
        return self._folds[quote.said.doc_id, quote.said.text]

    @cached_property
    def _folds(self) -> dict[tuple[str, str], str]:
        messages = [*self.spoken, *self._heard]
        return {(one.said.doc_id, one.said.text): fold(one.said.text) for one in messages}

    @cached_property
    def _said(self) -> Occurring:
        return Occurring(message.said.text for message in self.spoken)

    @cached_property
    def _heard_text(self) -> Occurring:
        return Occurring(message.said.text for message in self._heard)

    @cached_property
    def _written(self) -> Occurring:
        """What the assistant wrote in its calls: read by a tool, but its own words."""
        return Occurring(message.said.text for message in self._heard if message.said.role == "assistant")


def _occurs(word: Word, text: Occurring, language: str) -> bool:
    """Whether the word stands in the text; a compound also by one of its parts, the others being ordinary words."""
    if text.has(word):
        return True
    parts = word.norm.split("-")
    named = [part for part in parts if not is_ordinary(part, language)]
    return 1 <= len(named) < len(parts) and all(map(text.stands, named))


def _same(word: Word, norm: str) -> bool:
    if word.kind == "number":
        return Occurring([norm]).has(word)
    return are_related(word.norm, norm)


def _slip(word: Word, fits: Sequence[tuple[float, _Rival]]) -> str | None:
    """The one quoted value that looks like the word, where there is only one."""
    alike = {
        rival.text
        for _, rival in fits
        if rival.quoted and not rival.used and SequenceMatcher(None, word.norm, fold(rival.text)).ratio() >= _ALIKE
    }
    return alike.pop() if len(alike) == 1 else None


def _fitting(fits: Sequence[tuple[float, _Rival]]) -> str | None:
    """The quoted value that stands where the word stands, where that is clear."""
    if not fits or not fits[0][1].quoted or fits[0][0] < _FITTING + (_USED if fits[0][1].used else 0):
        return None
    best, rival = fits[0]
    others = (fitting for fitting, other in fits if other.text != rival.text)
    return rival.text if best - next(others, 0.0) >= _LEAD else None
