"""Finds the messages that a model's summary rests on: those that share its names or long words."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from memory_pipeline.distillation.marks import long_words, named_things
from memory_pipeline.distillation.said import Said, lowest_trust
from memory_pipeline.documents import Trust

FEWEST_WORDS = 2
ENOUGH_SHARE = 0.2
"""How many of the summary's long words a message must share: two common ones happen to be in any message."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Ids in memory-raw, at least one, and how far the memory is to be trusted."""

    doc_ids: tuple[str, ...]
    trust: Trust


def cite(summary: str, spoken: Sequence[Said]) -> Citation:
    """What of the words spoken in the turn (at least one message) a summary cites.

    Where nothing is shared, all is cited and trust is ``tool``: the summary may come from what a tool printed, and
    trust only ever goes down.
    """
    names = [name for name in named_things(summary) if len(name) > 2]
    words = long_words(summary)
    sharing = [message for message in spoken if _shares(message.text, names, words)]
    if not sharing:
        return Citation(tuple(message.doc_id for message in spoken), "tool")
    return Citation(tuple(m.doc_id for m in sharing), lowest_trust(m.role for m in sharing))


def _shares(text: str, names: Sequence[str], words: Set[str]) -> bool:
    """One name in common is enough; of words, which may be common ones, it takes some."""
    lower = text.lower()
    return any(name in lower for name in names) or len(words & long_words(text)) >= max(
        FEWEST_WORDS, ENOUGH_SHARE * len(words)
    )
