"""What distilling would cost, before it is begun: turns, tokens, time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_pipeline.documents import FINISHED, Turn
from memory_pipeline.errors import InputError
from memory_pipeline.sessions import SessionFile, outline
from memory_pipeline.stores.contract import Condition, MemoryStore

SAMPLE = 200
"""The engine's latest finished turns, whose pace is taken."""
EXTRACTION_PACE = 0.04
"""Seconds a turn, vectors and bookkeeping included, on two cores; what a first run is told."""
FIXED_TOKENS = 1_200
"""Instructions and answer of a turn, where no turn was distilled yet."""
CHARS_A_TOKEN = 4
CHARS_A_TURN = 6_000
"""Of a transcript, where there is none to look at."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """``tokens``: prompts and answers together; ``seconds`` is None where nothing is known of the model's pace.

    ``measured``: taken from turns that the engine has done, not assumed.
    """

    turns: int
    tokens: int
    seconds: float | None
    measured: bool


def estimate(store: MemoryStore | None, turns: int, engine: str) -> Estimate:
    """What ``turns`` turns would cost the engine (``llm`` or ``extractive``); no store: nothing was ever done."""
    if not turns:
        return Estimate(0, 0, 0.0, measured=False)
    done = _latest(store, engine) if store is not None else []
    if not done:
        if engine == "llm":
            return Estimate(turns, turns * _assumed_tokens(store), None, measured=False)
        return Estimate(turns, 0, turns * EXTRACTION_PACE, measured=False)
    seconds = sum(turn.distillation.seconds for turn in done) / len(done)
    tokens = sum(turn.distillation.prompt_tokens + turn.distillation.completion_tokens for turn in done) / len(done)
    return Estimate(turns, round(turns * tokens), round(turns * seconds, 1), measured=True)


def turns_to_come(files: Iterable[SessionFile], store: MemoryStore | None) -> int:
    """Turns that indexing these files would add; the files are read, nothing is stored.

    A file that has grown counts at least one: its last turn may have changed.
    """
    found = 0
    for file in files:
        try:
            read = outline(file)
        except (InputError, OSError):
            continue  # indexing will say so
        known = store.count(Turn, {"session_id": file.session_id}) if store is not None else 0
        found += max(read.tree.turns - known, 1 if known else 0)
    return found


def _latest(store: MemoryStore, engine: str) -> list[Turn]:
    where: dict[str, Condition] = {
        "distillation.state": FINISHED,
        "distillation.engine": engine,
        "on_active_path": True,
    }
    return list(store.scan(Turn, where, order=("started_at",), descending=True, limit=SAMPLE))


def _assumed_tokens(store: MemoryStore | None) -> int:
    """Tokens of one turn, by the length of those that are known."""
    where: dict[str, Condition] = {"on_active_path": True}
    known = store.scan(Turn, where, order=("started_at",), descending=True, limit=SAMPLE) if store is not None else ()
    chars = [len(turn.text) for turn in known]
    return FIXED_TOKENS + round((sum(chars) / len(chars) if chars else CHARS_A_TURN) / CHARS_A_TOKEN)
