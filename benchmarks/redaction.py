"""What redaction costs, what it finds and what it takes for a secret by mistake.

    python -m benchmarks.redaction [--turns 1500] [--data ../shared/data]

Speed: processor time of redacting every text of generated sessions, over that of one raw scan by the same engine with
the rules it is shipped with, of the same texts joined; the best of three each. The goal is at most 8. Recall: the
fakes of the shared generator, and unseen vendors and lines. Alarms: session files that hold no secret, and what Python
itself and the installed packages consist of (a sample of ``--megabytes``).
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
from kingfisher_sdk import Rules, Scanner
from rich.console import Console
from rich.table import Table

from benchmarks.corpus import write_corpus
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions.content import content_of
from memory_pipeline_tests.redaction.unseen import Line, password_lines, vendor_lines

_SUFFIXES = (".py", ".md", ".rst", ".txt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1_500)
    parser.add_argument("--megabytes", type=int, default=8)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    args = parser.parse_args()
    table = Table("what", "result", box=None)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "rules"
        Redactor(cache, b"benchmark").redact("compile")
        redactor = Redactor(cache, b"benchmark")
        table.add_row("start, warm", f"{seconds(lambda: redactor.redact('load')):.2f} s")
        _speed(table, redactor, cache, list(session_texts(Path(folder), args.turns)))
    _recall(table, redactor, args.data)
    _alarms(table, redactor, args.data, args.megabytes * 1_000_000)
    Console(width=110).print(table)


def seconds(work: Callable[[], object]) -> float:
    """Processor time, because other programs may be running."""
    started = time.process_time()
    work()
    return time.process_time() - started


def session_texts(folder: Path, turns: int) -> Iterator[str]:
    """The texts of the messages of generated sessions, as the reader makes them."""
    write_corpus(folder / "sessions", sessions=turns // 10, turns=10)
    for path in sorted((folder / "sessions").rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            entry = orjson.loads(line)
            if entry["type"] == "message":
                yield content_of(entry).text


def _speed(table: Table, redactor: Redactor, cache: Path, texts: list[str]) -> None:
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    joined = "\n\n".join(texts).encode("utf-8", "surrogatepass")
    shipped = Scanner(Rules(cache_dir=cache))
    raw = min(seconds(lambda: shipped.scan(joined)) for _ in range(3))

    def session() -> None:
        view = redactor.session()
        view.learn(texts)
        view.redact(texts)

    table.add_row("texts", f"{len(texts):,} of {size / 1e6:.1f} MB")
    table.add_row("raw scan, shipped rules, joined", f"{size / raw / 1e6:.0f} MB/s")
    for name, work in (("redact_many", lambda: redactor.redact_many(texts)), ("session: learn and redact", session)):
        spent = min(seconds(work) for _ in range(3))
        table.add_row(name, f"{size / spent / 1e6:.1f} MB/s, {spent / raw:.1f} × the raw scan")


def _recall(table: Table, redactor: Redactor, data: Path) -> None:
    spec = importlib.util.spec_from_file_location("generate", data / "secrets" / "generate.py")
    assert spec and spec.loader
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    cases = list(generate.cases(2, 11))
    results = redactor.redact_many(text for _, _, text, _ in cases)
    gone = sum(
        generate.leaked(r.text, context, parts) == 0 for r, (_, context, _, parts) in zip(results, cases, strict=True)
    )
    table.add_row("generated secrets gone", f"{gone / len(cases):.1%} of {len(cases)}")
    for name, lines in (("unseen vendors", list(vendor_lines())), ("unseen password lines", list(password_lines()))):
        table.add_row(f"{name} gone", f"{_gone(redactor, lines):.1%} of {len(lines)}")


def _gone(redactor: Redactor, lines: list[Line]) -> float:
    results = redactor.redact_many(text for _, text, _ in lines)
    return sum(not any(p in r.text for p in ps) for r, (_, _, ps) in zip(results, lines, strict=True)) / len(lines)


def _alarms(table: Table, redactor: Redactor, data: Path, limit: int) -> None:
    folders = {
        "session files": (data / "pi-sessions", (".jsonl",)),
        "standard library": (Path(sysconfig.get_path("stdlib")), _SUFFIXES),
        "installed packages": (Path(sysconfig.get_path("purelib")), _SUFFIXES),
    }
    for name, (folder, suffixes) in folders.items():
        found = size = 0
        paths = sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())
        if name == "standard library":
            paths = [path for path in paths if "-packages" not in path.as_posix()]
        for path in random.Random(0).sample(paths, len(paths)):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += sum(r.count for r in redactor.redact_many(text.split("\n") if suffixes == (".jsonl",) else [text]))
            size += len(text)
            if size > limit:
                break
        table.add_row(f"alarms, {name}", f"{found} in {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
