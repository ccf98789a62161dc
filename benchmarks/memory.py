"""How much memory ``memory-pipeline run`` takes for huge files: ``python -m benchmarks.memory [--megabytes 1000]``.

The real command, store included and nothing distilled, on a file of ordinary lines and on one with a line of 50 MB.
What is measured is the peak of resident memory (VmHWM) of its process; Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.reading import as_pi_writes

_PIECE = 20  # MB that are generated; the rest repeats them with other ids, or generating would take the most memory
_LONGEST_LINE = 50_000_000


def ordinary(folder: Path, megabytes: int) -> None:
    """One session of so many MB: the generated one again and again, each time as its own continuation."""
    with tempfile.TemporaryDirectory() as piece:
        lines = as_pi_writes(Path(piece), min(_PIECE, megabytes)).read_bytes().splitlines()
    header, *entries = (orjson.loads(line) for line in lines)
    with (folder / "long.jsonl").open("wb") as stream:
        size = stream.write(orjson.dumps(header) + b"\n")
        last, number = None, 0
        while size < megabytes * 1_000_000:
            names: dict[str | None, str | None] = {None: last}
            for entry in entries:
                number += 1
                names[entry["id"]] = last = f"{number:08x}"
                linked = {**entry, "id": last, "parentId": names[entry["parentId"]]}
                size += stream.write(orjson.dumps(linked) + b"\n")


def one_line(folder: Path) -> None:
    """A turn whose tool printed 50 MB on one line."""
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(5_000)]
    output = " ".join(chance.choices(words, k=_LONGEST_LINE // 6))[:_LONGEST_LINE]
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Print it all."},
        {"role": "toolResult", "toolName": "bash", "toolCallId": "c", "content": [{"type": "text", "text": output}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Printed."}], "stopReason": "stop"},
    ]
    with (folder / "line.jsonl").open("wb") as stream:
        time_ = "2026-01-01T00:00:00.000Z"
        stream.write(orjson.dumps({"type": "session", "version": 3, "id": "line", "timestamp": time_, "cwd": "/p"}))
        for number, message in enumerate(said):
            entry = {"type": "message", "id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None}
            stream.write(b"\n" + orjson.dumps({**entry, "timestamp": time_, "message": message}))
        stream.write(b"\n")


def measure(home: Path) -> tuple[float, float]:
    """Peak resident MB and seconds of one run on ``home/sessions``."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMORY_", "LLAMA_", "ES_", "DAGSTER_"))}
    command = [sys.executable, "-m", "memory_pipeline.interfaces.cli", "run", "--sessions", str(home / "sessions")]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--limit", "0"],
        env={**env, "HOME": str(home), "MEMORY_DATA_DIR": str(home / "data")},
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak = 0.0
    while process.poll() is None:
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) / 1024
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"The run ended with {process.returncode}; nothing was measured.")
    return peak, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1_000, help="of the file of ordinary lines")
    wanted = parser.parse_args().megabytes
    table = Table(title="memory-pipeline run --limit 0", title_justify="left")
    for name in ("file", "MB", "peak MB", "goal", "s"):
        table.add_column(name, justify="left" if name == "file" else "right")
    for name, goal in (("ordinary lines", "< 400"), ("a line of 50 MB", "< 500")):
        with tempfile.TemporaryDirectory(prefix="memory-pipeline-bench-") as folder:
            home = Path(folder)
            (home / "sessions").mkdir()
            if name == "ordinary lines":
                ordinary(home / "sessions", wanted)
            else:
                one_line(home / "sessions")
            size = sum(path.stat().st_size for path in (home / "sessions").iterdir())
            peak, seconds = measure(home)
            table.add_row(name, f"{size / 1e6:,.0f}", f"{peak:.0f}", goal, f"{seconds:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
