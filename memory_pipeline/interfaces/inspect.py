"""``memory-pipeline inspect``: what is in session files, read without a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic_core import to_jsonable_python
from rich.markup import escape
from rich.table import Table

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.interfaces.terminal import err, out
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import Inspection, files_below, inspect_file
from memory_pipeline.settings import Settings, load_settings

REFUSED = 2


def inspect(paths: Sequence[Path], *, as_json: bool) -> int:
    """Show each file and those below each folder; returns the exit code: 2 where a path leads to no session."""
    settings = load_settings()
    redactor = Catalog(settings).redactor
    shown: list[Inspection] = []
    code = 0
    for path in paths:
        found = 0
        for inspection in _inspections(path, redactor, settings):
            found += 1
            if as_json:
                shown.append(inspection)
            else:
                out.print(_table(inspection))
                out.print()
        code = code if found else REFUSED
    if as_json:
        out.print_json(json.dumps(to_jsonable_python(shown), ensure_ascii=False))
    return code


def _inspections(path: Path, redactor: Redactor, settings: Settings) -> Iterator[Inspection]:
    def say(sentence: str) -> None:
        err.print(redactor.redact(sentence).text, markup=False)

    folder = path.is_dir()
    found = 0
    for file in files_below(path, say) if folder else [path]:
        try:
            inspection = inspect_file(file, redactor, settings)
        except InputError as error:  # NotASession too
            say(str(error))
            continue
        found += 1
        yield inspection
    if folder and not found:
        say(f"{path} holds no session files.")


def _table(seen: Inspection) -> Table:
    table = Table(title=escape(seen.path), title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(seen):
        table.add_row(name, escape(value))
    return table


def _rows(seen: Inspection) -> Iterable[tuple[str, str]]:
    yield "format", seen.format if seen.version is None else f"{seen.format}, version {seen.version}"
    yield "session", seen.session_id or "none yet"
    if seen.name:
        yield "name", seen.name
    if seen.cwd:
        yield "folder", seen.cwd
    if seen.started_at:
        yield "time", f"{seen.started_at} to {seen.ended_at}"
    yield "entries", f"{seen.entries}, {seen.messages} of them messages"
    yield "turns", str(seen.turns)
    yield "active path", f"{seen.active_path} entries"
    yield "branches", str(seen.branches)
    yield "fork", f"of {seen.parent_session}" if seen.parent_session else "no"
    yield "problems", _list(seen.problem_count, (f"line {p.line}: {p.reason}" for p in seen.problems))
    yield "redactions", _list(seen.redactions, (f"{kind}: {n}" for kind, n in seen.redactions_by_kind.items()))


def _list(count: int, items: Iterable[str]) -> str:
    return "\n".join([str(count), *items])
