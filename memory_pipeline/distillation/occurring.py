"""Whether a name or a value occurs in a text, in one of the forms that people and models write it in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from memory_pipeline.distillation.claims import Word
from memory_pipeline.distillation.folding import fold

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:(?P<sign>[,. '])\d{3})(?:(?P=sign)\d{3})*(?:[.,]\d+)?")
_LETTERS = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"[^\s/\\=:@()\[\]{},;|\"'<>#-]+")
_SMALL = {
    number: tuple(names.split())
    for number, names in {
        "0": "zero null",
        "1": "one once single first eins ein eine einen einem einer einmal erste ersten",
        "2": "two twice both second zwei zweimal beide beiden zweite zweiten",
        "3": "three third drei dritte dritten",
        "4": "four fourth vier vierte vierten",
        "5": "five fifth fünf",
        "6": "six sixth sechs",
        "7": "seven seventh sieben",
        "8": "eight eighth acht",
        "9": "nine ninth neun",
        "10": "ten tenth zehn",
        "11": "eleven elf",
        "12": "twelve dozen zwölf",
    }.items()
}
"""Numbers that are written out, English and German."""
_MONTHS = {
    name: f"{number:02}"
    for number, names in enumerate(
        (
            "january januar jan",
            "february februar feb",
            "march märz mar",
            "april apr",
            "may mai",
            "june juni jun",
            "july juli jul",
            "august aug",
            "september sep sept",
            "october oktober oct okt",
            "november nov",
            "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}
"""Months by their names, for dates that the turn writes in numbers."""
_ENDINGS = 2
"""Letters by which an inflected name may be longer or shorter."""


class Occurring:
    """Texts in which names and values are looked up."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.folded = "\n".join(fold(text) for text in texts)

    def has(self, word: Word) -> bool:
        """Whether the word occurs, for what its kind is."""
        if self.stands(word.norm):
            return True
        if word.kind == "number":
            return self._has_number(word.norm)
        if word.kind == "path":
            return self._has_path(word.norm)
        return self._is_inflected(word.norm) or self._has_pieces(word.norm) or self._is_month(word.norm)

    def stands(self, norm: str) -> bool:
        """Whether it stands there with no letter or digit, and no further part of a number, right beside it."""
        return any(True for _ in self.places(norm))

    def places(self, norm: str) -> Iterator[int]:
        """Where it stands so in ``folded``."""
        text = self.folded
        at = text.find(norm)
        while at >= 0:
            end = at + len(norm)
            if not (_goes_on(text, at - 1, -1, norm[0]) or _goes_on(text, end, 1, norm[-1])):
                yield at
            at = text.find(norm, at + 1)

    def some_places(self, word: Word) -> Iterator[int]:
        """Where the word stands, in whatever form it is held to occur in; none where that can't be told."""
        if self.stands(word.norm):
            yield from self.places(word.norm)
        elif word.kind == "number":
            for number in _NUMBER.findall(word.norm):
                for form in sorted(_forms(number)):
                    yield from self.places(form)
        else:
            for piece in _PIECE.findall(word.norm):
                yield from self.places(piece)

    def _has_number(self, norm: str) -> bool:
        """Each number in it, whatever the unit, the thousands sign or the decimal sign."""
        numbers = _NUMBER.findall(norm)
        return all(_forms(number) & self._numbers or self._is_written_out(number) for number in numbers)

    def _is_written_out(self, number: str) -> bool:
        return any(name in self._words for name in _SMALL.get(number, ()))

    def _has_path(self, norm: str) -> bool:
        """A path by its last part, with all its other parts somewhere too."""
        parts = _PIECE.findall(norm.rstrip("/\\"))
        return bool(parts) and all(map(self.stands, parts))

    def _has_pieces(self, norm: str) -> bool:
        """What is joined by signs by its pieces: ``timeout=60s``, a compound of a language that joins with hyphens."""
        pieces = _PIECE.findall(norm)
        return len(pieces) > 1 and all(
            self.stands(piece) or self._is_inflected(piece) or (piece[0].isdigit() and self._has_number(piece))
            for piece in pieces
        )

    def _is_month(self, norm: str) -> bool:
        month = _MONTHS.get(norm)
        return month is not None and re.search(rf"\b\d{{4}}[-/]{month}\b", self.folded) is not None

    def _is_inflected(self, norm: str) -> bool:
        if not _LETTERS.fullmatch(norm):
            return False
        if f"{norm}s" in self._words or norm.removesuffix("s") in self._words:
            return True
        if len(norm) < 4:
            return False
        longer = (norm[:-cut] for cut in range(1, _ENDINGS + 1) if len(norm) - cut >= 4)
        if any(shorter in self._words for shorter in longer):
            return True
        at = self.folded.find(norm)
        while at >= 0:
            end = at + len(norm)
            rest = _LETTERS.match(self.folded, end)
            if not _goes_on(self.folded, at - 1, -1, norm[0]) and rest and len(rest[0]) <= _ENDINGS:
                return True
            at = self.folded.find(norm, end)
        return False

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_LETTERS.findall(self.folded))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        found: set[str] = set()
        for number in set(_NUMBER.findall(self.folded)):
            found |= _forms(number)
            parts = number.split(".")
            if len(parts) > 2:  # a version is known by its first parts too
                found |= {".".join(parts[:count]) for count in range(1, len(parts))}
        return frozenset(found)


def _forms(number: str) -> set[str]:
    """The ways to write one number: with and without thousands signs, decimal signs, leading zeros."""
    forms = {number, number.replace(",", ".")}
    if _GROUPED.fullmatch(number):
        forms.add(re.sub(r"\D", "", number))
    return forms | {form.lstrip("0") or "0" for form in forms}


def _goes_on(text: str, at: int, step: int, edge: str) -> bool:
    """Whether the word whose last sign on this side is ``edge`` goes on at this place."""
    if not 0 <= at < len(text) or not edge.isalnum() or edge >= "\u0e00":
        return False
    sign = text[at]
    if sign.isalnum() and sign < "\u0e00":
        if step < 0 and sign.isdigit() and edge.isalpha():
            return False  # a unit right behind its number
        return not (edge.isdigit() and step > 0 and sign.isalpha()) or _is_hex(text, at)
    return edge.isdigit() and sign in ".,:" and 0 <= at + step < len(text) and text[at + step].isdigit()


def _is_hex(text: str, at: int) -> bool:
    """Whether letters after a digit belong to a longer identifier, not to a unit."""
    rest = re.compile(r"[^\W_]*").match(text, at)
    return rest is not None and len(rest[0]) > 3
