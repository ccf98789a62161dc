"""What ``memory-pipeline run`` was asked to do, and what that would cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_pipeline.distillation import open_engine
from memory_pipeline.ingestion.estimating import Estimate, estimate, turns_to_come
from memory_pipeline.ingestion.planning import IndexPlan, plan_index, waiting_sessions
from memory_pipeline.ingestion.redoing import Selection, redone_unasked, selected_turns
from memory_pipeline.interfaces.terminal import duration, out
from memory_pipeline.models import open_chat
from memory_pipeline.sessions import SessionFile
from memory_pipeline.settings import Settings
from memory_pipeline.stores import open_store, store_exists
from memory_pipeline.stores.contract import MemoryStore


@dataclass(slots=True)
class RunRequest:
    """What the command line asked for.

    ``limit``: turns distilled; ``examples``: sessions for those who have none; ``dry_run``: only say what it would
    cost; ``redistill``: finished turns to do again.
    """

    sessions: Path | None = None
    limit: int | None = None
    reembed: bool = False
    examples: Path | None = None
    dry_run: bool = False
    redistill: Selection | None = None


def selection(older_than: int | None, project: str | None, model: str | None) -> Selection:
    """What ``--redistill`` selects; ``older_than`` in days before now."""
    before = None
    if older_than is not None:
        moment = datetime.now(UTC) - timedelta(days=older_than)
        before = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Selection(before, project, model)


def to_redo(request: RunRequest, settings: Settings, store: MemoryStore) -> dict[str, str]:
    """Turn id → session id of the finished turns that this run does again."""
    redo = redone_unasked(store, settings)
    if request.redistill is not None:
        with closing(open_engine(settings, lambda: open_chat(settings))) as engine:
            redo |= selected_turns(store, request.redistill, engine)
    return redo


def estimated(request: RunRequest, settings: Settings, plan: IndexPlan, store: MemoryStore | None) -> Estimate:
    """What a run with this plan costs the engine; no store: nothing was ever done."""
    waiting = waiting_sessions(store, redo=to_redo(request, settings, store)).turns if store is not None else 0
    turns = waiting + turns_to_come(plan.due, store)
    return estimate(store, turns if request.limit is None else min(turns, request.limit), settings.distiller_kind)


def dry_run(request: RunRequest, settings: Settings, files: Sequence[SessionFile]) -> None:
    """Say what a run would do, changing nothing."""
    with ExitStack() as stack:
        store = stack.enter_context(open_store(settings)) if store_exists(settings) else None
        plan = plan_index(files, store) if store is not None else IndexPlan(tuple(files), (), 0)
        found = estimated(request, settings, plan, store)
    out.print(f"Session files: {len(plan.new)} new, {len(plan.changed)} grown or changed, {plan.unchanged} unchanged.")
    out.print(described(found), markup=False)
    out.print("Nothing was changed; the same command without --dry-run does it.")


def described(found: Estimate) -> str:
    """An estimate as a sentence."""
    if not found.turns:
        return "No turn waits to be distilled."
    tokens = f", about {found.tokens:,} tokens" if found.tokens else ""
    pace = "at the pace so far" if found.measured else "a first guess"
    time_needed = "an unknown time" if found.seconds is None else f"about {duration(found.seconds)}"
    return f"To distil: at most {found.turns} turns{tokens}, {time_needed} ({pace})."
