"""Whether a memory says again what another one says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from memory_pipeline.distillation.claims import words
from memory_pipeline.distillation.lexicon import is_name
from memory_pipeline.distillation.marks import long_words, named_things

SAME_WORDS = 0.8
"""Share of the long words of the one with more of them that the other must hold too."""
_LANGUAGE = "en"
"""Whose dictionary tells lower-case names from words; a word of another language taken for one costs a merge only."""
_NEGATIONS = frozenset(
    """
    no not never none nothing without cannot don't doesn't isn't won't can't nicht nie niemals kein keine keinen
    keiner ohne pas jamais aucun sans sin nunca ningún senza mai niet nooit geen zonder nie bez не нет без
    никогда
    """.split()  # noqa: SIM905
)


class _Told(NamedTuple):
    names: frozenset[str]
    negations: frozenset[str]
    words: frozenset[str]


def near_duplicate(summary: str, others: Mapping[str, str]) -> str | None:
    """The key of the one of ``others`` (key → summary) that ``summary`` repeats; None if it says something of its own.

    A name, a number, a path or a negation that only one of the two has makes them two memories; word order and small
    words count for nothing.
    """
    told = _told(summary)
    alike = {key: _alike(told, _told(other)) for key, other in others.items()}
    best = max(alike, key=lambda key: alike[key], default=None)
    return best if best is not None and alike[best] >= SAME_WORDS else None


def _alike(one: _Told, other: _Told) -> float:
    if (one.names, one.negations) != (other.names, other.negations):
        return 0.0
    most = max(len(one.words), len(other.words))
    return len(one.words & other.words) / most if most else float(bool(one.names))


@lru_cache(maxsize=1 << 12)
def _told(summary: str) -> _Told:
    """Kept, since a memory is held against all others of its session."""
    all_words = list(words(summary))
    names = {word.norm for word in all_words if is_name(word, _LANGUAGE)} | set(named_things(summary))
    negations = frozenset(word.norm for word in all_words) & _NEGATIONS
    return _Told(frozenset(names), negations, long_words(summary))
