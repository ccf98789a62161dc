"""``memory-pipeline status``: what there is, what waits, what failed, where."""

from __future__ import annotations

import json
from typing import Any

from rich.markup import escape
from rich.table import Table

from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.ingestion.planning import plan_index
from memory_pipeline.ingestion.status import StoreStatus, store_status
from memory_pipeline.interfaces.terminal import command_name, duration, err, out
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store, store_exists
from memory_pipeline.stores.contract import MemoryStore

RUNS_SHOWN = 5
ONLY_IF_ANY = ("sessions redacted by older rules", "turns only extracted so far", "memories hidden")


def status(*, as_json: bool) -> None:
    settings = load_settings()
    if not store_exists(settings):
        if as_json:
            out.print_json(json.dumps({"data_folder": str(settings.data_dir), "sessions": 0, "runs": []}))
        else:
            out.print(
                f"There are no memories in {settings.data_dir} yet; {command_name()} run makes them.", markup=False
            )
        return
    with open_store(settings) as store:
        counts = store_status(store, settings.distiller_kind, Catalog(settings).redactor.rules_version)
        files = _files(settings, store)
    runs = _runs(settings)
    if as_json:
        out.print_json(
            json.dumps(
                {
                    **counts.as_dict(),
                    "data_folder": str(settings.data_dir),
                    "dagster_home": str(settings.dagster_home),
                    "distiller": settings.distiller_kind,
                    "files": files,
                    "runs": runs,
                },
                ensure_ascii=False,
            )
        )
        return
    out.print(_table(counts, files, settings))
    for sentence in counts.quarantined[:10]:
        out.print(f"[yellow]could not be read:[/] {escape(sentence)}")
    for path, reason in files["refused"][:10]:
        out.print(f"[yellow]left out:[/] {escape(path)}: {escape(reason)}")
    for run in runs:
        out.print(f"[dim]run {run['id'][:8]} {run['job']} {run['status'].lower()} {run['started']}[/]")


def _files(settings: Settings, store: MemoryStore) -> dict[str, Any]:
    try:
        discovery = Catalog(settings).discovery
    except InputError as error:
        return {"folder": None, "problem": str(error), "found": 0, "new": 0, "changed": 0, "refused": []}
    plan = plan_index(discovery.files, store)
    return {
        "folder": str(discovery.root),
        "problem": None,
        "found": len(discovery.files),
        "new": len(plan.new),
        "changed": len(plan.changed),
        "refused": [[str(path), reason] for path, reason in discovery.refused],
    }


def _runs(settings: Settings) -> list[dict[str, Any]]:
    """The latest runs in Dagster's history; none where there is no history yet."""
    if not (settings.dagster_home / "dagster.yaml").exists():
        return []
    from memory_pipeline.orchestration.history import latest_runs  # noqa: PLC0415  # Dagster takes a second to import

    try:
        return latest_runs(settings, RUNS_SHOWN)
    except StoreError as error:
        err.print(str(error), markup=False)
        return []


def _table(counts: StoreStatus, files: dict[str, Any], settings: Settings) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    waits = f"{counts.turns_waiting} ({duration(counts.estimate_seconds)} at the pace so far)"
    states = ", ".join(f"{state} {n}" for state, n in counts.turns_by_state.items())
    models = ", ".join(f"{model} {n}" for model, n in counts.memories_by_model.items())
    vectors = f"{counts.vectors} of {counts.memories}"
    if counts.embedding_model:
        vectors += f" by {counts.embedding_model} ({counts.embedding_dimensions} dimensions)"
    for name, value in (
        (
            "session files",
            files["problem"] or f"{files['found']} in {files['folder']}, {files['new']} new, {files['changed']} grown",
        ),
        ("sessions indexed", f"{counts.sessions}, {counts.problems} problems in them"),
        (
            "sessions redacted by older rules",
            counts.sessions_of_older_rules
            and f"{counts.sessions_of_older_rules}; {command_name()} redact --store looks at them anew",
        ),
        ("messages", counts.messages),
        ("turns", f"{counts.turns} ({states})"),
        ("turns that wait", waits if counts.turns_waiting else 0),
        ("turns only extracted so far", counts.turns_extracted),
        ("memories", f"{counts.memories} ({models})" if models else 0),
        ("memories hidden", counts.memories_hidden),
        ("vectors", vectors),
        ("distiller", settings.distiller_kind),
        ("store", counts.location),
        ("Dagster's history", settings.dagster_home),
    ):
        if name in ONLY_IF_ANY and not value:
            continue
        table.add_row(f"[bold]{name}[/]", escape(str(value)))
    return table
