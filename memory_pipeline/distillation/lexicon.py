"""Which words are ordinary ones of a language, by its dictionary; what is in none is taken for a name."""

from __future__ import annotations

import re
from functools import lru_cache

from simplemma import is_known
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from memory_pipeline.distillation.claims import Word

CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages that write all nouns with a capital."""
_SHORTEST = 3
_LETTERS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TERMS = frozenset(
    """
    api apis app apps async auth autoscaling backend backends backfill backoff boolean build builds cli cluster
    codebase config configs cron cpu csv dashboards database databases dataset datasets dev dns docs dockerfile
    endpoint endpoints enum env failover frontend gpu hostname hotfix html http https idempotent ini installer
    json jwt kernel linter localhost login logs lookup metadata middleware monorepo namespace namespaces npm
    oauth offline online params parser payload pdf pipeline plugin plugins prod proxied ram readme refactor
    refactored refactoring regex repo repos retries rollback rollbacks runtime schema screenshot sdk sql ssh ssl
    startup stderr stdin stdout subnet symlink sync tls todo token tokenizer tokens toolchain ttl uid unicode
    unix uploader uptime url urls utc vlan vpn webhook webhooks whitelist wifi workflow workflows workspace xml
    yaml
    """.split()  # noqa: SIM905
)
"""Words of the trade in any language, which dictionaries lack or may lack."""


def is_name(word: Word, language: str) -> bool:
    """Whether the word names something: its kind says so, or no dictionary of the language holds it."""
    if word.kind == "word" or word.initial:
        return len(word.norm) >= _SHORTEST and not is_ordinary(word.norm, language)
    return word.solid or language not in CAPITAL_NOUNS or not _is_noun(word.norm, language)


@lru_cache(maxsize=1 << 16)
def is_ordinary(norm: str, language: str) -> bool:
    """Whether a dictionary holds the word, or each part of it between hyphens; always in languages without one.

    English words are ordinary in every language: so much for the talk of the trade.
    """
    if language not in SUPPORTED_LANGUAGES:
        return True
    if not _LETTERS.fullmatch(norm):  # an abbreviation, or signs only
        return True
    parts = re.split(r"['’-]", norm)
    return all(len(part) < _SHORTEST or part in _TERMS or _in_dictionary(part, language) for part in parts)


@lru_cache(maxsize=1 << 14)
def _is_noun(norm: str, language: str) -> bool:
    """Whether the dictionary of this very language holds it, or each part of the compound, as a noun is written."""
    return all(len(part) < _SHORTEST or is_known(part.capitalize(), language) for part in norm.split("-"))


def _in_dictionary(word: str, language: str) -> bool:
    return any(is_known(form, either) for either in {language, "en"} for form in (word, word.capitalize()))
