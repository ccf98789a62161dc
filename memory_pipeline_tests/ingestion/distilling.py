"""What tests of distilling share: a scripted model, and a session distilled as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from memory_pipeline.distillation import DistillationEngine, Outcome, SessionDistiller
from memory_pipeline.distillation.contract import Draft, Mention
from memory_pipeline.documents import RawMessage, Summary, Turn
from memory_pipeline.ingestion.distilling import Distilled, distil_session
from memory_pipeline.ingestion.progress import Budget, Silent
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.indexer import Indexer


@dataclass(slots=True)
class Spoken:
    """An engine that answers for each turn with what was said it should: turn index → outcome.

    A memory is a text, or a text and the quote that it rests on; it cites the turn's first message.
    """

    outcomes: Mapping[int, Outcome | Sequence[str | tuple[str, str]]]
    name: str = "llm"
    prompt_version: str = "llm-1"
    model: str = "capable"
    keeps_state: bool = True
    parallel: int = 1
    mentions: Mapping[int, Sequence[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def session(self) -> SessionDistiller:
        return self

    def close(self) -> None:
        """Holds nothing."""

    def observe(self, turn: Turn, messages: Sequence[RawMessage]) -> None:
        """Keeps no state."""

    def distill(self, turn: Turn, messages: Sequence[RawMessage]) -> Outcome:
        self.asked.append(turn.turn_id)
        outcome = self.outcomes.get(turn.turn_index, ())
        if isinstance(outcome, Outcome):
            return outcome
        cites = (messages[0].doc_id,)
        drafts = [
            Draft(one, ("port",), cites, "user")
            if isinstance(one, str)
            else Draft(one[0], ("port",), cites, "user", evidence=(one[1],))
            for one in outcome
        ]
        named = tuple(Mention(name, "thing", "", cites) for name in self.mentions.get(turn.turn_index, ()))
        return Outcome("stored" if drafts else "none", drafts=tuple(drafts), mentions=named)


@dataclass(slots=True)
class Distiller:
    """``distil(path, engine)`` reads a session as it stands and distils what waits of it."""

    index: Indexer
    store: MemoryStore
    clock: count[int] = field(default_factory=count)

    def __call__(self, path: Path, engine: DistillationEngine, budget: Budget | None = None) -> Distilled:
        return distil_session(
            self.index(path).manifest.doc_id,
            store=self.store,
            engine=engine,
            budget=budget or Budget(),
            progress=Silent(),
            now=lambda: f"2026-06-01T00:00:00.{next(self.clock):03d}Z",
        )

    def memories(self) -> dict[str, list[int]]:
        """Text of each memory → the indices of the turns that it cites, in its order."""
        return {
            memory.summary: [int(ref.turn_id.rpartition("_")[2]) for ref in memory.source_refs]
            for memory in self.store.scan(Summary)
        }


def redo(store: MemoryStore, *turn_indices: int) -> Budget:
    """A budget under which these turns are done again."""
    return Budget(redo=frozenset(turn.turn_id for turn in store.scan(Turn) if turn.turn_index in turn_indices))
