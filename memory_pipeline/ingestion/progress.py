"""How long work tells the person in front of it how far it is, and how much of it may be done in one go."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol


class Progress(Protocol):
    """Told of work as it is done. Steps and their units: index (sessions), distil (turns), embed (memories)."""

    def expect(self, step: str, amount: int) -> None:
        """So many more units of the step are now known to be due."""
        ...

    def advance(self, step: str, amount: int = 1) -> None: ...

    def note(self, sentence: str) -> None:
        """Something a person should read: a file that was left out, a turn that failed."""
        ...


class Silent:
    """Tells nobody."""

    def expect(self, step: str, amount: int) -> None:
        pass

    def advance(self, step: str, amount: int = 1) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a turn came to no outcome, and whether the model server is to blame rather than the turn."""

    error: str
    server_at_fault: bool


@dataclass(slots=True)
class Usage:
    """What distilling cost so far: messages of the turns that an engine was asked about, tokens, seconds in it."""

    messages: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Budget:
    """What may be distilled before the rest is left for next time: so many turns, so many seconds a run.

    One budget may span several runs: a turn tried under it is not tried again under it, whatever came of it.
    """

    turns: int | None = None
    seconds: float | None = None
    fresh_only: bool = False
    """Leave alone what failed before."""
    redo: frozenset[str] | None = None
    """Ids of finished turns that are to be done again; None where nobody has decided that yet."""
    tried: set[str] = field(default_factory=set)
    """Turn ids."""
    left: set[str] = field(default_factory=set)
    """Ids of sessions that the current run could not finish."""
    outages: int = 0
    """Turns in a row that no model answered."""
    failed: list[Failed] = field(default_factory=list)
    """One for each turn that was tried and came to no outcome."""
    used: Usage = field(default_factory=Usage)
    _started: float = field(default_factory=time.monotonic)

    def start_run(self) -> None:
        """Let ``seconds`` count from now and nothing be left yet."""
        self._started = time.monotonic()
        self.left.clear()

    def spend(self, turn_id: str) -> bool:
        """Take one turn from the budget; False where nothing is left of it."""
        if self.spent or (self.seconds is not None and time.monotonic() - self._started >= self.seconds):
            return False
        if self.turns is not None:
            self.turns -= 1
        self.tried.add(turn_id)
        return True

    @property
    def spent(self) -> bool:
        """Whether no further run can do anything."""
        return self.turns is not None and self.turns <= 0
