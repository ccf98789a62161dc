"""What is measured: each engine on each set that says something about it, a row each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.quality.chain import Engine, extraction, run_chain
from benchmarks.quality.replay import recorded_turns, replaying
from benchmarks.quality.scoring import Score, score
from benchmarks.quality.sets import PADDING, LabelledSet, padded, real_session, unpacked
from memory_pipeline.redaction import Redactor
from memory_pipeline.stores.contract import MemoryStore

SMALL_MODEL_TURNS = 20
SMALL_MODEL_CONTEXT = 2_048  # tokens


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration: its score, or why there is none. ``problems``: what went wrong with single turns."""

    name: str
    score: Score | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is measured where: the set, the real session, the small model's file, and a folder to work in."""

    evalset: Path
    real: Path
    chat_gguf: Path | None
    folder: Path
    redactor: Redactor

    def rows(self) -> Iterator[Row]:
        """Each row as soon as it is measured."""
        plain = unpacked(self.evalset, self.folder / "plain")
        yield self._row("extractive, plain", plain)
        for count in PADDING:
            harder = padded(self.evalset, self.folder / "plain", count, self.folder / f"padded-{count}")
            yield self._row(f"extractive, padded K = {count}", harder, why_not="the set has no pad.py")
        real = real_session(self.real, self.folder / "real")
        yield self._row("extractive, real session", real, why_not=f"{self.real.name} and its labels are not there")
        recorded = partial(_replayed, answers=plain.answers) if plain.answers is not None else None
        if recorded is None:
            yield Row("recorded capable model", None, ("the set has no answers.jsonl",))
        else:
            yield self._row("recorded capable model", plain, recorded)
        if self.chat_gguf is None:
            yield Row("small chat model", None, ("not asked for",))
        elif not self.chat_gguf.is_file():
            yield Row("small chat model", None, ("its file is missing; memory-pipeline models pull --chat",))
        else:
            name = f"small chat model, {SMALL_MODEL_TURNS} turns"
            yield self._row(name, plain, partial(_small, gguf=self.chat_gguf), turns=SMALL_MODEL_TURNS)

    def _row(
        self,
        name: str,
        labelled: LabelledSet | None,
        engine: Engine = extraction,
        *,
        turns: int | None = None,
        why_not: str = "",
    ) -> Row:
        if labelled is None:
            return Row(name, None, (why_not,))
        with run_chain(labelled.sessions, self.redactor, engine, turns=turns) as ran:
            result = score(ran.store, labelled.labels, asked=ran.asked)
            result.seconds = ran.seconds
            return Row(name, result, ran.problems)


@contextmanager
def _replayed(store: MemoryStore, *, answers: Path) -> Iterator[Mapping[str, object]]:
    with replaying(recorded_turns(answers, store)) as server:
        yield {"distiller": "llm", "llama_url": server.url}
        if server.lost:
            raise LookupError(f"{server.lost} prompts hold no turn that an answer was recorded for")


@contextmanager
def _small(_: MemoryStore, *, gguf: Path) -> Iterator[Mapping[str, object]]:
    # It loops until its answer is cut off, and how long that takes is a matter of the context.
    yield {"distiller": "llm", "chat_gguf": gguf, "llama_context": SMALL_MODEL_CONTEXT}
