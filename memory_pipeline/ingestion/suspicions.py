"""What makes a stored memory suspect, told from its text and the messages behind it. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from memory_pipeline.distillation.claims import Word, words
from memory_pipeline.distillation.duplicates import near_duplicate
from memory_pipeline.distillation.folding import Folded, fold
from memory_pipeline.distillation.marks import long_words
from memory_pipeline.distillation.misshapen import misshapen
from memory_pipeline.distillation.occurring import Occurring
from memory_pipeline.documents import Summary

ALIKE = 0.6
"""Memories that share fewer of their long words need no closer look."""
GREETING_CHARS = 60
CAPITALISED_NOUNS = ("de", "lb")
"""Languages in which a capital makes no name."""

_GREETING = re.compile(
    r"\A\W*(?:hi|hello|hey|thanks|thank you|good (?:morning|evening)|hallo|danke|guten (?:morgen|tag|abend))\b[^-]",
    re.IGNORECASE,
)


def junk_shape(summary: str) -> str | None:
    """What the text is instead of a memory: a refusal, a scrap, an echo, a greeting; None if it is none of these."""
    if _GREETING.match(summary) and len(summary) <= GREETING_CHARS:
        return "a greeting"
    return misshapen(summary)


def ungrounded(memory: Summary, cited: Sequence[str], whole_turn: Callable[[], Sequence[str]]) -> str | None:
    """What of a memory is not borne out: a quote that the cited messages do not hold, a name or value that neither
    they nor the rest of the turn do. ``whole_turn`` is asked only where the cited messages do not suffice.
    """
    here = _flat(cited)
    for quote in memory.evidence:
        if _squeezed(fold(quote)) not in here and not any(Folded(text).find(quote) for text in cited):
            return "quotes what its messages do not say"
    # A project's name says which one is meant, and need not be said.
    said = Occurring([*cited, memory.project])
    missing = [claim for claim in _claims(memory) if not said.has(claim)]
    if missing:
        said = Occurring(whole_turn())
        missing = [claim for claim in missing if not said.has(claim)]
    return f"names {missing[0].norm!r}, which its turn does not" if missing else None


def repeats(memories: Sequence[Summary]) -> Iterator[tuple[str, str]]:
    """Ids of memories of one session that say again what an earlier one says, each with that one's id."""
    known: list[tuple[Summary, frozenset[str]]] = []
    for memory in sorted(memories, key=lambda m: (m.established_at, m.doc_id)):
        own = frozenset(long_words(memory.summary))
        near = {
            other.doc_id: other.summary
            for other, theirs in known
            if len(own & theirs) >= ALIKE * max(len(own), len(theirs))
        }
        twin = near_duplicate(memory.summary, near) if near else None
        if twin is not None:
            yield memory.doc_id, twin
        known.append((memory, own))


def _claims(memory: Summary) -> list[Word]:
    """Names and values in the memory; of names that only a capital makes, where a language has few of them."""
    return [
        word
        for word in words(memory.summary)
        if word.kind != "word" and (word.solid or not (word.initial or memory.language in CAPITALISED_NOUNS))
    ]


def _flat(texts: Iterable[str]) -> str:
    return _squeezed(fold("\n".join(texts)))


def _squeezed(text: str) -> str:
    return " ".join(text.split())
