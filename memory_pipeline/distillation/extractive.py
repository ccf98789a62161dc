"""The engine that needs no model: keeps the most telling sentences of a turn, or nothing.

It reads only what the user and the assistant said, so what tools print or extensions inject cannot become a memory.
What counts as new, and as a repeat, depends on the turns before; hence the state per session.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from memory_pipeline.distillation.contract import Draft, Outcome
from memory_pipeline.distillation.instructions import is_hijack
from memory_pipeline.distillation.marks import long_words, named_things
from memory_pipeline.distillation.memory_text import SOURCE_CHARS, Composed, Valued, joined, outcome, own_words
from memory_pipeline.distillation.said import Said, lowest_trust, said
from memory_pipeline.distillation.scoring import (
    ASK_ALONE_WEIGHT,
    ASK_WEIGHT,
    GATE,
    UNIT_FLOOR,
    UNLISTED_GATE,
    Known,
    answer_value,
    ask_value,
    is_talk,
    leaves_open,
    unit_value,
)
from memory_pipeline.distillation.tags import tags_of
from memory_pipeline.distillation.units import typed_units, units
from memory_pipeline.distillation.wording import LISTED_LANGUAGES
from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.languages import language_of

MESSAGES_BACK = 4
"""How many of the last messages are looked through for one that is more than progress talk."""
FEWEST_WORDS = 3
"""A first sentence shorter than this ("Done!") leaves its place to the next."""
LONG_PROSE_CHARS = 170
LONG_PROSE_VALUE = 2.0
"""From here on what a user wrote is a memory of its own beside the outcome."""
REPEATED_SHARE = 0.6


class ExtractiveEngine:
    """Extraction by rules; about 2 ms a turn."""

    name = "extractive"
    prompt_version = "extractive-2"
    model = "extractive"
    keeps_state = True
    parallel = 1

    def session(self) -> ExtractiveSession:
        return ExtractiveSession()

    def close(self) -> None:
        """Holds nothing."""


class ExtractiveSession:
    """One session's turns, in order. Remembers the names met and the words of the memories made."""

    def __init__(self) -> None:
        self._known = Known()
        self._memories: list[frozenset[str]] = []

    def distill(self, turn: Turn, messages: Sequence[RawMessage]) -> Outcome:
        """Abandoned turns come to nothing: what was tried and taken back is no memory."""
        if not turn.on_active_path:
            return Outcome(state="none")
        spoken = said(messages)
        asks = [
            Valued(unit, ask_value(unit.text, self._known), message)
            for message in spoken
            if message.role == "user"
            for unit in typed_units(message.text)
            if not is_hijack(unit.text)
        ]
        told = self._told([message for message in spoken if message.role == "assistant"])
        drafts = tuple(_draft(memory) for memory in _memories(told, asks) if self._is_new(memory.text))
        for part in (*told, *asks):
            self._known.note(part.unit.text)
        return Outcome(state="stored", drafts=drafts) if drafts else Outcome(state="none")

    def observe(self, turn: Turn, messages: Sequence[RawMessage]) -> None:
        """Distilling is cheap and depends on nothing else, so doing it again leaves the state it left then."""
        self.distill(turn, messages)

    def _told(self, messages: Sequence[Said]) -> list[Valued]:
        """The units of the last message that is more than progress talk; empty where there is none."""
        for message in islice(reversed(messages), MESSAGES_BACK):
            found = [unit for unit in units(message.text) if not is_hijack(unit.text)]
            if all(is_talk(unit.text) for unit in found):
                continue
            first = next((unit for unit in found if _is_statement(unit.text)), None)
            told = [Valued(unit, unit_value(unit.text, self._known, first=unit is first), message) for unit in found]
            return [] if leaves_open([(part.unit.text, part.value) for part in told]) else told
        return []

    def _is_new(self, memory: str) -> bool:
        """Whether the session has no memory yet that says this; if so, it counts as one from now on."""
        words = long_words(memory)
        repeated = any(len(words & earlier) >= REPEATED_SHARE * len(words) for earlier in self._memories)
        if repeated and len(named_things(memory).keys() - self._known.names) <= 1:
            return False
        self._memories.append(words)
        return True


def _is_statement(text: str) -> bool:
    return len(text.split()) >= FEWEST_WORDS or len(long_words(text)) >= FEWEST_WORDS


def _memories(told: Sequence[Valued], asks: Sequence[Valued]) -> list[Composed]:
    """The turn's memories, none where it is not worth one."""
    best_ask = max((part.value for part in asks), default=0.0)
    if not told:
        return [own_words(asks)] if _is_worth_it(ASK_ALONE_WEIGHT * best_ask, asks) else []
    value = answer_value(part.value for part in told) + ASK_WEIGHT * best_ask
    memories = [outcome(told, asks, floor=UNIT_FLOOR)] if _is_worth_it(value, told) else []
    if sum(len(part.unit.text) for part in asks) > LONG_PROSE_CHARS and best_ask >= LONG_PROSE_VALUE:
        memories.append(own_words(asks))
    return memories


def _is_worth_it(value: float, parts: Sequence[Valued]) -> bool:
    """Less will do in a language whose cues and rules are not listed, since none of them adds to the value."""
    if not UNLISTED_GATE <= value < GATE:
        return value >= GATE
    language = language_of(joined(parts))
    return language is not None and language not in LISTED_LANGUAGES


def _draft(memory: Composed) -> Draft:
    words = joined(memory.parts)
    return Draft(
        summary=memory.text,
        tags=tags_of(words),
        cites=tuple(dict.fromkeys(part.message.doc_id for part in memory.parts)),
        trust=lowest_trust(part.message.role for part in memory.parts),
        evidence=tuple(dict.fromkeys(part.unit.source[:SOURCE_CHARS] for part in memory.parts)),
        language=language_of(words),
    )
