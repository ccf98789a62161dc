"""The language that a text is written in."""

from __future__ import annotations

import re
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

SURE = 0.6
"""Of 1. Shorter or mixed text scores lower; names of tools alone stay below .2."""
FEWEST_LETTERS = 12
FEWEST_WORDS_OF_A_HALF = 5
LONGEST = 4_000
"""Characters that are looked at; more would tell nothing new."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,200}`|https?://\S+", re.DOTALL)
_NO_PROSE = re.compile(r"[!-~]*[\d/_=@#\\<>|{}\[\]][!-~]*")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def language_of(text: str) -> str | None:
    """ISO 639-1 code; None where the text is too short to tell, mixed, or no language.

    Loads the language model (3 s, 40 MB) when it is first called.
    """
    prose = _NO_PROSE.sub(" ", _CODE.sub(" ", text[:LONGEST]))
    words = _WORD.findall(prose)
    if sum(map(len, words)) < FEWEST_LETTERS and not _without_spaces(words):
        return None
    whole = _classify(words)
    half = len(words) // 2
    if whole and half >= FEWEST_WORDS_OF_A_HALF:
        halves = {_classify(words[:half]), _classify(words[half:])} - {None}
        return whole if halves <= {whole} else None
    return whole


def _without_spaces(words: list[str]) -> bool:
    """Whether these are the scripts in which a few signs are a sentence."""
    return any(len(word) >= 4 and word[0] >= "\u0e00" for word in words)


def _classify(words: list[str]) -> str | None:
    language, probability = _identifier().classify(" ".join(words))
    return str(language) if probability >= SURE else None


@cache
def _identifier() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    # Dialects and languages without a two-letter code would only take probability from those with one.
    identifier.set_languages([label for label in identifier.labels if len(label) == 2])
    return identifier
