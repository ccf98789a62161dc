"""``memory-pipeline audit``: the health of the store as a table, and an exit code for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.auditing import Finding, limits_of
from memory_pipeline.ingestion.auditing import audit as audit_store
from memory_pipeline.interfaces.terminal import command_name, out
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store, store_exists


def audit(*, as_json: bool, limits: Sequence[str]) -> int:
    """Print what was found; 1 where a check is above its limit, else 0."""
    wanted = limits_of(limits)
    settings = load_settings()
    if not store_exists(settings):
        raise InputError(f"There are no memories yet; {command_name()} run makes them.")
    with open_store(settings) as store:
        found = audit_store(store, limits=wanted)
    passed = all(finding.passed for finding in found.values())
    if as_json:
        out.print_json(json.dumps({"passed": passed, "checks": {name: _plain(f) for name, f in found.items()}}))
        return 0 if passed else 1
    table = Table(box=None, pad_edge=False)
    for column in ("check", "", "found", "of", "limit", ""):
        table.add_column(column, justify="right" if column in ("found", "of", "limit") else "left")
    for finding in found.values():
        verdict = "[green]sound[/]" if finding.passed else "[red]too many[/]"
        limit = "none" if finding.limit is None else str(finding.limit)
        verdict = verdict if finding.limit is not None else ""
        table.add_row(finding.name, finding.meaning, str(finding.count), str(finding.of), limit, verdict)
    out.print(table)
    for finding in found.values():
        for doc_id, what in finding.examples:
            out.print(f"[dim]{finding.name}: {escape(doc_id)} {escape(what)}[/]")
    if not passed:
        out.print(
            f"Look at one with {command_name()} show ID, take it out with {command_name()} hide ID.", markup=False
        )
    return 0 if passed else 1


def _plain(finding: Finding) -> dict[str, object]:
    return {
        "count": finding.count,
        "of": finding.of,
        "share": round(finding.share, 6),
        "limit": None if finding.limit is None else finding.limit.most,
        "limit_is_share": finding.limit is not None and finding.limit.is_share,
        "passed": finding.passed,
        "examples": [list(example) for example in finding.examples],
    }
