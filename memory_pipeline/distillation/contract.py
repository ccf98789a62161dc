"""What a distillation engine takes and gives; ``ingestion`` stores what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_pipeline.documents import RawMessage, Trust, Turn, TurnState


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory as an engine proposes it, before anything of it is believed.

    ``evidence``: quotes that are said to stand in the turn; ``language``: an ISO 639-1 code, where known.
    """

    summary: str
    tags: tuple[str, ...]
    evidence: tuple[str, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory before it is a document: cited messages are ids in memory-raw, at least one."""

    summary: str
    tags: tuple[str, ...]
    cites: tuple[str, ...]
    trust: Trust
    evidence: tuple[str, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """Something named in a turn, for the entity tier; ``type`` is person, place, thing or concept."""

    name: str
    type: str
    description: str
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """What is left of an engine's proposals: what is grounded, and for what is not, why."""

    drafts: tuple[Draft, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one turn came to. ``drafts`` is empty unless ``state`` is ``stored``.

    ``dropped``: a reason for each memory that was proposed and not kept, without its text; ``parts``: how many calls
    the turn was split into; ``cut_chars``: characters of the turn that no call held.
    """

    state: TurnState
    drafts: tuple[Draft, ...] = ()
    mentions: tuple[Mention, ...] = ()
    dropped: tuple[str, ...] = ()
    error: str | None = None
    server_at_fault: bool = False
    """Whether this would most likely happen to any turn: no answer, a refusal, or a reply that no model wrote."""
    parts: int = 1
    cut_chars: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class SessionDistiller(Protocol):
    """Distils the turns of one session, in order; may keep state from turn to turn."""

    def distill(self, turn: Turn, messages: Sequence[RawMessage]) -> Outcome:
        """Never raises for what the turn holds; ModelOutage where no model can be reached."""
        ...

    def observe(self, turn: Turn, messages: Sequence[RawMessage]) -> None:
        """Take note of a turn that is already done, so that later ones are judged as in an uninterrupted run."""
        ...


class DistillationEngine(Protocol):
    """An engine is known by these three names; another one of any of them means another fingerprint."""

    @property
    def name(self) -> str: ...

    @property
    def prompt_version(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def keeps_state(self) -> bool:
        """Whether ``observe`` matters; where not, turns that are done need not be loaded."""
        ...

    @property
    def parallel(self) -> int:
        """How many turns it takes at a time; 1 where it keeps state."""
        ...

    def session(self) -> SessionDistiller: ...

    def close(self) -> None: ...
