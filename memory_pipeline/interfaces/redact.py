"""``memory-pipeline redact``: what would go out of text files, or copies without it. Shows no secret, ever."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from memory_pipeline.interfaces.terminal import err, out
from memory_pipeline.redaction import Redactor, load_custom, load_key
from memory_pipeline.redaction.files import FileReport, check_out, redact_file, sources
from memory_pipeline.settings import load_settings

LINES_SHOWN = 8


def redact_files(paths: Sequence[Path], *, to: Path | None, as_json: bool) -> None:
    settings = load_settings()
    custom = load_custom(settings.redact_patterns, settings.redact_allow)
    redactor = Redactor(settings.data_dir / "redaction", load_key(settings.data_dir), custom)
    if to is not None:
        check_out(paths, to)
    reports = _reports(paths, redactor, to)
    if as_json:
        print(json.dumps([_row(report, redactor) for report in reports], ensure_ascii=False, indent=2))  # noqa: T201
        return
    _show(list(reports), redactor, to)


def _reports(paths: Sequence[Path], redactor: Redactor, to: Path | None) -> Iterator[FileReport]:
    for source in sources(paths):
        yield redact_file(source, redactor, to)


def _row(report: FileReport, redactor: Redactor) -> dict[str, object]:
    row: dict[str, object] = {
        "path": redactor.redact(str(report.path)).text,
        "redactions": report.redactions,
        "kinds": dict(sorted(report.kinds.items())),
        "lines": report.lines,
    }
    return row if report.skipped is None else {**row, "skipped": report.skipped}


def _show(reports: Sequence[FileReport], redactor: Redactor, to: Path | None) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("file", "redactions", "kinds", "lines"):
        table.add_column(column, overflow="fold", justify="right" if column == "redactions" else "left")
    for report in reports:
        if report.redactions:
            kinds = ", ".join(f"{kind} × {count}" for kind, count in report.kinds.most_common())
            more = f", … {len(report.lines) - LINES_SHOWN} more" if len(report.lines) > LINES_SHOWN else ""
            lines = ", ".join(map(str, report.lines[:LINES_SHOWN])) + more
            name = escape(redactor.redact(str(report.path)).text)
            table.add_row(name, str(report.redactions), escape(kinds), lines)
    if table.row_count:
        out.print(table)
    for report in reports:
        if report.skipped is not None:
            err.print(f"[yellow]·[/] {escape(redactor.redact(str(report.path)).text)}: {report.skipped}; skipped")
    read = [report for report in reports if report.skipped is None]
    found = sum(report.redactions for report in read)
    files = "1 file" if len(read) == 1 else f"{len(read)} files"
    where = f"; copies in {escape(str(to))}" if to is not None else ""
    out.print(f"{found} redactions in {files}{where}")
