"""Runs session files through the pipeline's own steps into a store that is thrown away."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memory_pipeline.distillation import open_engine
from memory_pipeline.documents import Turn
from memory_pipeline.errors import ModelOutage
from memory_pipeline.ingestion.distilling import distil_session
from memory_pipeline.ingestion.indexing import build_turns, ingest_messages, record_session
from memory_pipeline.ingestion.progress import Budget, Silent
from memory_pipeline.models import open_chat
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import discover
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import MemoryStore


@dataclass(frozen=True, slots=True)
class Ran:
    """A store with what the chain made of the sessions. ``asked``: ids of the only turns distilled, None for all."""

    store: MemoryStore
    asked: frozenset[str] | None
    seconds: float
    problems: tuple[str, ...]


Engine = Callable[[MemoryStore], AbstractContextManager[Mapping[str, object]]]
"""What leads to an engine, once the turns are in the store: settings, kept good while it is at work."""


def extraction(_: MemoryStore) -> AbstractContextManager[Mapping[str, object]]:
    return nullcontext({"distiller": "extractive"})


@contextmanager
def run_chain(
    sessions: Path, redactor: Redactor, engine: Engine = extraction, *, turns: int | None = None
) -> Iterator[Ran]:
    """Index the sessions, oldest first, and distil them.

    ``turns``: distil only so many, spread over all. ``seconds`` are those of distilling.
    """
    with TemporaryDirectory(prefix="memory-pipeline-quality-") as folder:
        settings = load_settings(env_file=None, data_dir=Path(folder) / "data", sessions_dir=sessions)
        with open_store(settings) as store:
            session_ids = _index(settings, store, redactor)
            asked = _spread(store, turns) if turns is not None else None
            with engine(store) as model:
                started = time.perf_counter()
                problems = _distil(settings.model_copy(update=dict(model)), store, session_ids, asked)
                yield Ran(store, asked, time.perf_counter() - started, problems)


def _index(settings: Settings, store: MemoryStore, redactor: Redactor) -> list[str]:
    files = sorted(discover(settings).files, key=lambda file: file.session_id)
    for file in files:
        record_session(file, store=store, redactor=redactor, settings=settings)
        ingest_messages(file, store=store, redactor=redactor, settings=settings)
        build_turns(file.session_id, store=store)
    return [file.session_id for file in files]


def _distil(
    settings: Settings, store: MemoryStore, session_ids: Collection[str], asked: frozenset[str] | None
) -> tuple[str, ...]:
    problems: list[str] = []
    budget = Budget()
    if asked is not None:  # what was tried under a budget is not tried again under it
        budget.tried.update(turn.turn_id for turn in store.scan(Turn) if turn.turn_id not in asked)
    with closing(open_engine(settings, partial(open_chat, settings))) as engine:
        for session_id in session_ids:
            try:
                done = distil_session(
                    session_id, store=store, engine=engine, budget=budget, progress=Silent(), now=_now
                )
            except ModelOutage as error:
                problems.append(str(error))
                break
            problems += done.problems
    return tuple(problems)


def _spread(store: MemoryStore, count: int) -> frozenset[str]:
    """``count`` turns at even distances."""
    turns = [turn.turn_id for turn in store.scan(Turn, {"copy_of": None, "on_active_path": True})]
    return frozenset(turns[len(turns) * place // count] for place in range(min(count, len(turns))))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
