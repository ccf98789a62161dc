"""The words of a text, and which of them claim something that can be checked: names, numbers, paths and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memory_pipeline.distillation.folding import fold

Kind = Literal["number", "path", "name", "word"]
"""``number``: counts, amounts, times, versions; ``path``: addresses too; ``name``: identifiers too."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place in the text; ``norm`` is what is compared.

    ``initial``: whether it opens a sentence, so that a capital says nothing; ``solid``: whether more than a capital at
    its beginning makes it what its kind says.
    """

    norm: str
    start: int
    end: int
    kind: Kind
    initial: bool
    solid: bool
    sentence: int


_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_WORD = re.compile(
    rf"""[{_UNSPACED}]                                          # of scripts without spaces, each sign
      | \d+(?:,\d+)+[^\s,(){{}}\[\];|"“”„«»`<>*…{_UNSPACED}、。！？：；，（）「」]*
      | [^\s,(){{}}\[\];|"“”„«»`<>*…{_UNSPACED}、。！？：；，（）「」]+""",
    re.VERBOSE,
)
_EDGE = ".:!?'’‘‚~≈=+–—-•"
_STOP = re.compile(r"[.!?:;。！？：；][\"'”’)\]*`]*\s|[。！？：；…\n]")
_NUMBER = re.compile(r"[v€$£#]?\d[\d.,:x/-]*(?:[a-zµ°%€]{0,3}|[a-z]\d{1,3}[a-z])", re.IGNORECASE)
_PATH = re.compile(r"\w+://|[\w.~*>-][/\\][\w.*<]|[/\\]\w")
_SIGN = re.compile(r"[_@#=]|\w[.:]\w|\d")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "z.b", "d.h", "u.a", "s.o", "p.s", "a.m", "p.m"})
_LONGEST = 200


def words(text: str) -> Iterator[Word]:
    """The words of ``text`` in order, without the signs around them."""
    sentence = 0
    initial = True
    before = 0
    norm = ""
    for match in _WORD.finditer(text):
        token = match[0]
        bare = token.rstrip(_EDGE)
        start = match.start() + len(bare) - len(bare := bare.lstrip(_EDGE))
        if not bare or len(bare) > _LONGEST or not any(map(str.isalnum, bare)):
            continue
        if before and _STOP.search(text, before, start) and norm not in _ABBREVIATIONS:
            sentence += 1
            initial = True
        before = start + len(bare)
        if bare[-2:] in ("'s", "’s", "'S"):
            bare = bare[:-2]
        kind = "name" if token.startswith(("--", ".")) and bare[0].isalpha() else _kind(bare)
        norm = fold(bare)
        solid = kind != "word" and not _only_capital(bare)
        yield Word(norm, start, start + len(bare), kind, initial and not solid, solid, sentence)
        initial = False


def _kind(word: str) -> Kind:
    if word.lower() in _ABBREVIATIONS:
        return "word"
    if _NUMBER.fullmatch(word):
        return "number"
    if _PATH.search(word):
        return "path"
    if _SIGN.search(word) or any(map(str.isupper, word[1:])):
        return "name"
    return "name" if word[0].isupper() and word not in ("I", "I'm", "I’m", "I'd", "I've", "I'll") else "word"


def _only_capital(word: str) -> bool:
    """Whether nothing but a capital at its beginning makes the word a name."""
    return word[0].isupper() and not (any(map(str.isupper, word[1:])) or _SIGN.search(word) or _PATH.search(word))
