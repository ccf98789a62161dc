"""How fast session files are read, and in how little memory: ``python -m benchmarks.reading [--megabytes 40]``.

Everything is generated, in shapes of real sessions: many small lines, few huge ones. One thread does it all, so times
are the processor's, the best of some runs; ratios are to what `orjson.loads` alone takes for the same lines.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.corpus import write_corpus
from memory_pipeline.documents import Header, SessionManifest
from memory_pipeline.ingestion.planning import plan_index
from memory_pipeline.sessions import READER_VERSION, Outline, SessionFile, discover, outline, saved
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store

FILES = 5_000
_START = datetime(2026, 1, 1, tzinfo=UTC)
_HUGE = 600_000  # characters of the longest lines: images, and outputs that no tool cut
_TURN_BYTES = 17_000  # of the corpus, about
_RUNS = 5


def best(*works: Callable[[], object]) -> list[float]:
    """Seconds of the fastest of some runs of each; they take turns, so that all see the machine equally busy."""
    times = [float("inf")] * len(works)
    for _ in range(_RUNS):
        for i, work in enumerate(works):
            gc.collect()
            started = time.process_time()
            work()
            times[i] = min(times[i], time.process_time() - started)
    return times


def as_pi_writes(folder: Path, megabytes: int) -> Path:
    """One long session of the corpus: tool outputs with a heavy tail, thinking with signatures."""
    write_corpus(folder, sessions=1, turns=megabytes * 1_000_000 // _TURN_BYTES)
    return next(folder.rglob("*.jsonl"))


def with_huge_lines(folder: Path, source: Path) -> Path:
    """The same with an image or an uncut output every thousand lines."""
    chance = random.Random(0)
    path = folder / "huge.jsonl"
    with path.open("wb") as stream:
        for number, line in enumerate(source.read_bytes().splitlines(keepends=True)):
            if number % 1_000 == 999:
                record = orjson.loads(line)
                data = chance.randbytes(_HUGE // 2).hex() if number % 2_000 == 999 else "one line of output\n" * 30_000
                record["details"] = {"data": data}
                stream.write(orjson.dumps(record) + b"\n")
            else:
                stream.write(line)
    return path


def short_lines(folder: Path, megabytes: int) -> Path:
    """A chat of short messages, with a line for each change of the thinking level."""
    chance = random.Random(0)
    path, size, parent, number = folder / "short.jsonl", 0, None, 0
    with path.open("wb") as stream:
        record: dict[str, Any] = {"type": "session", "version": 3, "id": "s", "timestamp": _time(0), "cwd": "/bench"}
        while size < megabytes * 1_000_000:
            line = orjson.dumps(record) + b"\n"
            size += stream.write(line)
            number += 1
            record = {"type": "message", "id": f"{chance.getrandbits(32):08x}", "parentId": parent}
            parent = record["id"]
            record["timestamp"] = _time(number)
            if number % 10 == 0:
                record |= {"type": "thinking_level_change", "thinkingLevel": "high"}
                continue
            text = "some words " * (1 + min(200, int(chance.lognormvariate(3, 1))))
            said: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": number}
            if number % 5:
                cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
                usage = {"input": 900, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 920, "cost": cost}
                said |= {"role": "assistant", "provider": "local", "model": "m", "stopReason": "stop", "usage": usage}
            record["message"] = said
    return path


def _time(seconds: int) -> str:
    return (_START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def session(path: Path) -> SessionFile:
    status = path.stat()
    return SessionFile(path, path.stem, status.st_size, status.st_mtime_ns)


def reading(name: str, path: Path) -> tuple[str, ...]:
    """A row: how long ``outline`` takes over how long orjson takes for the lines."""
    lines = path.read_bytes().splitlines(keepends=True)
    lengths = sorted(map(len, lines))

    def parse() -> None:
        for line in lines:
            orjson.loads(line)

    parsed, read = best(parse, lambda: outline(session(path)))
    return (
        name,
        f"{sum(lengths) / 1e6:.0f}",
        f"{len(lines):,}",
        f"{statistics.median(lengths):,.0f}",
        f"{lengths[-1]:,}",
        f"{parsed:.3f}",
        f"{read:.3f}",
        f"{read / parsed:.2f}",
    )


def state_bytes(path: Path) -> float:
    """Bytes that an outline holds for each entry."""
    gc.collect()
    tracemalloc.start()
    seen: Outline | None = None
    try:
        seen = outline(session(path))
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return held / len(seen.entries)


def growth(path: Path, folder: Path) -> list[float]:
    """Seconds to read a grown file whole, and from where its last outline ended, the loading of that included."""
    saved.save_outline(folder, path.stem, outline(session(path)))
    with path.open("ab") as stream:
        stream.write(orjson.dumps({"type": "label", "id": "0a0b0c0d", "parentId": None, "timestamp": _time(9)}) + b"\n")
    file = session(path)

    def resumed() -> None:
        assert outline(file, saved.load_outline(folder, path.stem)).resumed_at > 0

    return best(lambda: outline(file), resumed)


@contextmanager
def unchanged(folder: Path) -> Iterator[Callable[[], None]]:
    """What a run does that finds nothing changed among thousands of files: list them, compare their manifests."""
    settings = load_settings(env_file=None, sessions_dir=folder / "many", data_dir=folder / "data")
    for number in range(FILES):
        name = f"019e1111-2222-7333-8444-{number:012d}"
        project = folder / "many" / f"--home-bench-{number % 50}--"
        project.mkdir(parents=True, exist_ok=True)
        header = {"type": "session", "version": 3, "id": name, "timestamp": _time(number), "cwd": f"/p{number % 50}"}
        entry: dict[str, Any] = {"type": "message", "id": "00000001", "parentId": None, "timestamp": _time(number)}
        entry["message"] = {"role": "user", "content": "word " * 2_000}
        (project / f"2026-01-01T00-00-00-000Z_{name}.jsonl").write_bytes(
            orjson.dumps(header) + b"\n" + orjson.dumps(entry) + b"\n"
        )
    with open_store(settings) as store:
        store.upsert(SessionManifest, [_manifest(file) for file in discover(settings).files])

        def work() -> None:
            assert plan_index(discover(settings).files, store).unchanged == FILES

        yield work


def _manifest(file: SessionFile) -> SessionManifest:
    return SessionManifest(
        doc_id=file.session_id, path=str(file.path), format="pi-v3", header=Header(), cwd="/p", project="/p",
        origin="bench", started_at=_time(0), ended_at=_time(0), entries=1, messages=1, turns=1, branches=1,
        size=file.size, mtime_ns=file.mtime_ns, reader_version=READER_VERSION,
        content_sha256="0", indexed_sha256="0", grouped_sha256="0", rules_version="0",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=40, help="size of each generated file (default: 40)")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="memory-pipeline-bench-") as name:
        folder = Path(name)
        plain = as_pi_writes(folder / "corpus", arguments.megabytes)
        short = short_lines(folder, arguments.megabytes)
        table = Table(title="Parse + tree + turns over orjson.loads (goal: at most 2.5)", title_justify="left")
        for column in ("file", "MB", "lines", "median", "longest", "orjson s", "outline s", "ratio"):
            table.add_column(column, justify="left" if column == "file" else "right")
        table.add_row(*reading("as pi writes", plain))
        table.add_row(*reading("with huge lines", with_huge_lines(folder, plain)))
        table.add_row(*reading("short lines", short))
        console.print(table)
        console.print(f"state: {state_bytes(short):.1f} bytes an entry")
        whole, resumed = growth(plain, folder / "outlines")
        console.print(f"one line more: whole read {whole:.3f} s, resumed {resumed:.3f} s, {whole / resumed:.0f} times")
        with unchanged(folder) as work:
            console.print(f"{FILES:,} files, nothing changed: {best(work)[0]:.2f} s (goal: under 1)")


if __name__ == "__main__":
    main()
