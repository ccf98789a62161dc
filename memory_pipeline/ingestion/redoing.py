"""Which finished turns are done again: what was only extracted before there was a model, and what a person asks for.

Another prompt or another model alone is no reason to do a turn again: that would redo everything, at the price of
hours. A turn is never done again by what it was made with: nothing would change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from memory_pipeline.documents import FINISHED, Turn
from memory_pipeline.ingestion.projects import of_project
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import Condition, MemoryStore, Range

EXTRACTIVE = "extractive"


class Maker(Protocol):
    """What an engine is known by."""

    @property
    def name(self) -> str: ...

    @property
    def prompt_version(self) -> str: ...

    @property
    def model(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """Turns by what they are and what they were made with; None selects all.

    ``before``: turns that started before this timestamp; ``project``: its path or the name of its folder; ``model``:
    the model that distilled them.
    """

    before: str | None = None
    project: str | None = None
    model: str | None = None


def redone_unasked(store: MemoryStore, settings: Settings) -> dict[str, str]:
    """Turn id → session id of what a run does again without being asked: what was extracted, once there is a model."""
    return extracted_turns(store, settings.redistill_limit) if settings.distiller_kind == "llm" else {}


def extracted_turns(store: MemoryStore, limit: int) -> dict[str, str]:
    """Turn id → session id of the newest ``limit`` turns that were only extracted, for a model to do again."""
    if limit == 0:
        return {}
    found = store.scan(
        Turn,
        {
            "distillation.state": FINISHED,
            "distillation.engine": EXTRACTIVE,
            "copy_of": None,
            "on_active_path": True,  # of an abandoned branch a model says nothing either
        },
        order=("started_at",),
        descending=True,
        limit=limit,
    )
    return {turn.turn_id: turn.session_id for turn in found}


def selected_turns(store: MemoryStore, selection: Selection, maker: Maker) -> dict[str, str]:
    """Turn id → session id of the finished turns that are selected and were made with anything else than ``maker``.

    Extraction does again what a model made only where that model is named: it would hardly make it better.
    """
    found = (turn for turn in _selected(store, selection) if _made_with(turn) != _names(maker))
    if maker.name == EXTRACTIVE and selection.model is None:
        found = (turn for turn in found if turn.distillation.engine == EXTRACTIVE)
    return {turn.turn_id: turn.session_id for turn in found}


def _selected(store: MemoryStore, selection: Selection) -> Iterator[Turn]:
    where: dict[str, Condition] = {"distillation.state": FINISHED, "copy_of": None, "on_active_path": True}
    if selection.before is not None:
        where["started_at"] = Range(lt=selection.before)
    if selection.model is not None:
        where["distillation.model"] = selection.model
    if selection.project is not None:
        where |= of_project(store, Turn, selection.project)
    return store.scan(Turn, where, order=("started_at",), descending=True)


def _made_with(turn: Turn) -> tuple[str | None, str | None, str | None]:
    state = turn.distillation
    return state.engine, state.prompt_version, state.model


def _names(maker: Maker) -> tuple[str, str, str]:
    return maker.name, maker.prompt_version, maker.model
