"""``memory-pipeline redact --store``: looks at a store with today's rules, and repairs every tier."""

from __future__ import annotations

import json

from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from memory_pipeline.documents import SessionManifest, Summary
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.ingestion.repairing import repair_store
from memory_pipeline.interfaces.locking import only_run
from memory_pipeline.interfaces.terminal import command_name, err, out
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store, store_exists


def redact_store(*, as_json: bool) -> None:
    settings = load_settings()
    if not store_exists(settings):
        raise InputError(f"There are no memories yet; {command_name()} run makes them.")
    with only_run(settings), open_store(settings) as store:
        sessions = store.count(SessionManifest)
        with Progress(console=err) as progress:
            task = progress.add_task("sessions", total=sessions)
            changed = repair_store(Catalog(settings).redactor, store=store, watch=lambda: progress.advance(task))
        vectors = store.count(Summary, {"embedding_model": None})
    if as_json:
        out.print_json(json.dumps({"sessions": sessions, "repaired": changed}))
        return
    if not changed:
        out.print(f"{sessions} sessions looked at; nothing stored holds a secret that today's rules know.")
        return
    table = Table(title=f"Repaired in {len(changed)} of {sessions} sessions", title_justify="left")
    table.add_column("session")
    table.add_column("documents", justify="right")
    for session_id, count in changed.items():
        table.add_row(escape(session_id), str(count))
    out.print(table)
    if vectors:
        out.print(f"{vectors} memories want a vector: {command_name()} run", markup=False)
