"""Measures distilling on a labelled set and prints a table, a row for each configuration.

    python -m benchmarks.quality [EVALSET] [--real FILE] [--models DIR] [--json] [--write docs/quality.md]

An evaluation set holds sessions/, labels.json and, if it has them, answers.jsonl (recorded answers), unpack.py and
pad.py. Everything goes through the pipeline's own steps into a store that is thrown away.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from benchmarks.quality.configurations import Measurement, Row
from benchmarks.quality.report import markdown, table
from benchmarks.quality.sets import data_files, hash_of
from memory_pipeline.models.installed import SMOLLM2
from memory_pipeline.redaction import Redactor

SHARED = Path("../shared/data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evalset", type=Path, nargs="?", default=SHARED / "evalset")
    parser.add_argument("--real", type=Path, help="a session file with labels beside it")
    parser.add_argument("--models", type=Path, default=Path(".cache/models"), help="folder of the pulled models")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write", type=Path, help="a Markdown file to put the table into")
    parser.add_argument("--no-model", action="store_true", help="leave the small chat model out")
    arguments = parser.parse_args()
    evalset = arguments.evalset
    if not (evalset / "labels.json").is_file():
        parser.error(f"{evalset} is no evaluation set: it holds no labels.json")
    real = arguments.real or SHARED / "pi-sessions" / "real" / "large-session.jsonl"
    data = hash_of(data_files(evalset, real))
    progress = Console(stderr=True)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="memory-pipeline-eval-") as folder:
        measurement = Measurement(
            evalset=evalset.absolute(),
            real=real,
            chat_gguf=None if arguments.no_model else (arguments.models / SMOLLM2.file).absolute(),
            folder=Path(folder),
            redactor=Redactor(Path(folder) / "rules", b"a key for what is thrown away"),
        )
        for row in measurement.rows():
            state = f"{len(row.problems)} problems" if row.problems else "done"
            progress.print(f"[dim]{row.name}: {state if row.score else f'left out, {row.problems[0]}'}[/]")
            rows.append(row)
    if arguments.json:
        print(json.dumps({"data": data, "rows": [asdict(row) for row in rows]}, indent=1, ensure_ascii=False))
    else:
        Console(width=None if Console().is_terminal else 200).print(table(rows, data))
    if arguments.write:
        arguments.write.write_text(markdown(rows, data), encoding="utf-8")


if __name__ == "__main__":
    main()
