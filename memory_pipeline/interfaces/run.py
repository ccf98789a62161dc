"""``memory-pipeline run``: index what is new, distil what waits, say what happened and what to do next."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from memory_pipeline.documents import FINISHED, Summary
from memory_pipeline.errors import InputError, MemoryPipelineError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.ingestion.planning import IndexPlan, plan_index
from memory_pipeline.ingestion.progress import Budget, Usage
from memory_pipeline.ingestion.status import StoreStatus, store_status
from memory_pipeline.interfaces.enriching import Enriching
from memory_pipeline.interfaces.examples import on_examples, settings_for
from memory_pipeline.interfaces.locking import only_run
from memory_pipeline.interfaces.run_request import RunRequest, described, dry_run, estimated
from memory_pipeline.interfaces.terminal import (
    TerminalProgress,
    TerminalReporter,
    command_name,
    duration,
    err,
    out,
    progress_bars,
)
from memory_pipeline.settings import Settings
from memory_pipeline.stores import open_store, store_exists

if TYPE_CHECKING:
    from memory_pipeline.orchestration.local_run import LocalRuns

OWN_CALLS = "turns that are this pipeline's own calls, left out"
LEAST_SPACE = 50_000_000  # bytes; below this SQLite and Dagster fail halfway


def run(request: RunRequest) -> int:
    """Do one run; returns the exit code. Everything that was done before a failure is kept."""
    started = time.monotonic()
    settings = settings_for(request.sessions, request.examples)
    catalog = Catalog(settings)
    discovery = catalog.discovery
    err.print(f"Sessions in [bold]{escape(str(discovery.root))}[/]: {len(discovery.files)}")
    for path, reason in discovery.refused[:5]:
        err.print(f"[yellow]·[/] left out {escape(str(path))}: {escape(reason)}")
    for path, reason in discovery.problems[:5]:
        err.print(f"[yellow]·[/] not read {escape(str(path))}: {escape(reason)}")
    if not discovery.files and not store_exists(settings):
        out.print(
            "There are no session logs yet. Use pi for a while, or name another folder: "
            "memory-pipeline run --sessions DIR"
        )
        return 0
    if not discovery.files:
        err.print(
            f"[yellow]·[/] there is no session file in {escape(str(discovery.root))}; "
            "this run only goes on with what was indexed before"
        )
    if request.dry_run:
        dry_run(request, settings, discovery.files)
        return 0
    with only_run(settings):
        _check_space(settings)
        with open_store(settings) as store:
            if request.reembed:
                store.drop_vectors(Summary)
            plan = plan_index(discovery.files, store)
            before = store_status(store, settings.distiller_kind)
            err.print(described(estimated(request, settings, plan, store)), markup=False)
        budget = Budget(turns=request.limit)
        with progress_bars() as progress:
            reporter = TerminalReporter(progress, budget)
            with Enriching(request, settings, reporter, progress) as enriching:
                indexed = _index(catalog, plan, reporter, progress, enriching)
                failures = indexed.failures if indexed else []
                if not failures:
                    try:
                        failures = enriching.rest(budget)
                    except MemoryPipelineError as error:
                        failures = [str(error)]
    with open_store(settings) as store:
        after = store_status(store, settings.distiller_kind)
    out.print(_table(plan, before, after, indexed, budget.used, time.monotonic() - started))
    for sentence in dict.fromkeys(failures):
        err.print(f"[red]Stopped:[/] {escape(sentence)} What was done before is kept; run again to go on.")
    if not failures and (unanswered := _no_answers(budget)):
        failures = [unanswered]
        err.print(f"[red]Failed:[/] {escape(unanswered)}")
    _next_steps(after, examples=on_examples(settings))
    return 1 if failures else 0


def _check_space(settings: Settings) -> None:
    free = shutil.disk_usage(settings.data_dir).free
    if free < LEAST_SPACE:
        raise InputError(
            f"Only {free // 1_000_000} MB are free where {settings.data_dir} lies; at least "
            f"{LEAST_SPACE // 1_000_000} MB are needed. Free some or set MEMORY_DATA_DIR to another disk."
        )


def _index(
    catalog: Catalog, plan: IndexPlan, reporter: TerminalReporter, progress: TerminalProgress, enriching: Enriching
) -> LocalRuns | None:
    if not plan.due:
        return None
    catalog.redactor.load_ahead()
    from memory_pipeline.orchestration.local_run import run_index  # noqa: PLC0415  # Dagster takes a second to import

    progress.expect("index", len(plan.due))
    session_ids = [file.session_id for file in plan.due]
    return run_index(catalog.settings, session_ids, reporter, enriching.begins if enriching.goes_beside else None)


def _no_answers(budget: Budget) -> str | None:
    """What to say of turns that failed because of the model or its server; None where only the turns are to blame."""
    at_fault = [failed.error for failed in budget.failed if failed.server_at_fault]
    if not at_fault and len(budget.failed) < max(1, len(budget.tried)):
        return None
    errors = at_fault or [failed.error for failed in budget.failed]
    return (
        f"{len(errors)} of {len(budget.tried)} turns got no answer that could be used (the last: "
        f"{errors[-1].rstrip('.')}). "
        f"They are tried again at the next run; check the model with: {command_name()} doctor"
    )


def _table(  # noqa: PLR0917  # what a run came to
    plan: IndexPlan, before: StoreStatus, after: StoreStatus, indexed: LocalRuns | None, used: Usage, seconds: float
) -> Table:
    table = Table(title=f"Done in {duration(seconds)}", title_justify="left")
    for name in ("", "this run", "in the store"):
        table.add_column(name, justify="left" if not name else "right")
    failed = sum(n for state, n in after.turns_by_state.items() if state not in (*FINISHED, "pending"))
    rows = [
        ("sessions new", len(plan.new), after.sessions),
        ("sessions grown or changed", len(plan.changed), ""),
        ("sessions unchanged", plan.unchanged, ""),
        ("sessions that could not be read", len(indexed.contained) if indexed else 0, len(after.quarantined)),
        ("problems in files", after.problems - before.problems, after.problems),
        ("messages", after.messages - before.messages, after.messages),
        ("turns", after.turns - before.turns, after.turns),
        ("turns that are copies, in forks", after.turns_copied - before.turns_copied, after.turns_copied),
        ("turns with memories", _more(before, after, "stored"), after.turns_by_state.get("stored", 0)),
        ("turns with nothing worth keeping", _more(before, after, "none"), after.turns_by_state.get("none", 0)),
        (OWN_CALLS, _more(before, after, "own"), after.turns_by_state.get("own", 0)),
        ("turns that failed, tried again next time", "", failed),
        ("turns that wait", "", after.turns_by_state.get("pending", 0)),
        ("memories", after.memories - before.memories, after.memories),
        ("memories with a vector", after.vectors - before.vectors, after.vectors),
    ]
    if used.messages:
        tokens = used.prompt_tokens + used.completion_tokens
        rows += [
            ("tokens per 1,000 messages", f"{1_000 * tokens / used.messages:,.0f}", ""),
            ("seconds of distilling per 1,000 messages", f"{1_000 * used.seconds / used.messages:,.1f}", ""),
        ]
    for name, now, total in rows:
        if name == OWN_CALLS and not total:
            continue
        table.add_row(name, str(now), str(total))
    return table


def _more(before: StoreStatus, after: StoreStatus, state: str) -> int:
    return after.turns_by_state.get(state, 0) - before.turns_by_state.get(state, 0)


def _next_steps(status: StoreStatus, *, examples: bool) -> None:
    if not status.sessions:
        return
    command = command_name()
    if examples and "--examples" not in command:
        command += " --examples"
    query = "slow website generation" if examples else "what did we decide about …"
    out.print("Next:")
    out.print(f'  {command} search "{query}"', markup=False)
    out.print(f"  {command} status", markup=False)
    out.print("  make ui" if examples else f"  {command} ui", "       # the same in the browser", markup=False)
    if status.turns_waiting and status.estimate_seconds:
        out.print(f"{status.turns_waiting} turns wait: about {duration(status.estimate_seconds)} at this pace.")
