"""``make fuzz``: reads thousands of broken files, says which of them were read wrong, and how to get one again."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memory_pipeline.redaction import Redactor
from memory_pipeline_tests.sessions.broken import Broken, Reading, broken_file, complaints
from memory_pipeline_tests.sessions.logs import contents, read, reasons, write_bytes

SLOW = 5.0  # seconds of processor time; a file of this size that takes as long hangs a run of thousands

SEED = int(os.environ.get("SEED") or 1)
"""Of the first file that ``make test`` reads; ``make fuzz`` draws another each time."""

Reader = Callable[[Path], Reading]


def our_reader(redactor: Redactor) -> Reader:
    """Both passes of this package, over a file."""
    redactor.redact("load the rules, whose time is not the reader's")

    def reader(path: Path) -> Reading:
        seen, said = read(write_bytes(path, path.read_bytes()), redactor)
        return Reading(contents(said), reasons(seen))

    return reader


def failures(reader: Reader, seeds: range, folder: Path) -> Iterator[tuple[Broken, list[str]]]:
    """The files that the reader reads wrong, and what is wrong about it."""
    path = folder / "broken.jsonl"
    for seed in seeds:
        broken = broken_file(seed)
        path.write_bytes(broken.data)
        start = time.process_time()
        try:
            wrong = complaints(broken, reader(path))
        except Exception as error:  # whatever it raises, a reader must not
            wrong = [f"raised {type(error).__name__}: {error}"]
        if time.process_time() - start > SLOW:
            wrong.append(f"took {time.process_time() - start:.0f} s")
        if wrong:
            yield broken, wrong


def told(broken: Broken, wrong: list[str]) -> str:
    return f"SEED={broken.seed} ({', '.join(broken.faults)}):\n  " + "\n  ".join(wrong)


def say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or secrets.randbelow(1_000_000_000)))
    parser.add_argument("--keep", type=Path, help="write the file of --seed here, and read nothing")
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.files)
    if arguments.keep:
        arguments.keep.write_bytes(broken_file(arguments.seed).data)
        return
    say(f"{arguments.files} broken files, SEED={arguments.seed}")
    start, bad = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader = our_reader(Redactor(folder / "rules", bytes(32)))
        for broken, wrong in failures(reader, seeds, folder):
            bad += 1
            say(told(broken, wrong))
    say(f"{bad} read wrong, in {time.monotonic() - start:.0f} s, SEED={arguments.seed}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
