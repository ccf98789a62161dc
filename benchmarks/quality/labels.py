"""The labels beside an evaluation set: what should be remembered of which turn, and what should not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Place = tuple[str, int]
"""Session id and turn index."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a turn says and that should be kept; ``core`` or minor."""

    place: Place
    core: bool
    key_terms: tuple[str, ...]

    def is_in(self, memory: str) -> bool:
        """Whether the text holds at least half of the key terms."""
        found = sum(term.lower() in memory.lower() for term in self.key_terms)
        return 2 * found >= len(self.key_terms)


@dataclass(frozen=True, slots=True)
class Labels:
    """``injected`` and ``recalled``: words that stand only in planted instructions and in recalled memories."""

    facts: tuple[Fact, ...]
    junk: frozenset[Place]
    secrets: tuple[str, ...] = ()
    injected: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()


def read_labels(path: Path, session: str = "") -> Labels:
    """Labels of a set of sessions, or of one session, whose id is ``session`` then, else the one they name."""
    labels = json.loads(path.read_text(encoding="utf-8"))
    session = session or labels.get("session", "")
    facts = [
        Fact((fact.get("session_id", session), fact["turn_index"]), fact["tier"] == "core", tuple(fact["key_terms"]))
        for fact in labels["facts"]
    ]
    junk = [
        (turn["session_id"], turn["turn_index"]) if isinstance(turn, dict) else (session, turn)
        for turn in labels["junk_turns"]
    ]
    return Labels(
        tuple(facts),
        frozenset(junk),
        secrets=tuple(labels.get("secrets", ())),
        injected=_markers(labels.get("injection_places", ())),
        recalled=_markers(labels.get("recalled_memory", ())),
    )


def _markers(planted: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(marker.lower() for place in planted for marker in place["markers"])
