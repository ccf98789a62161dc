"""Running a piece of Python in a process of its own: for locks, crashes, limits and other users' rights."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

PRELUDE = """
import os, sys
from pathlib import Path
from memory_pipeline.documents import RawMessage
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.conformance.samples import raw

path = Path(sys.argv[1])

def wait_for_go():
    print("ready", flush=True)
    return sys.stdin.readline().strip()

def become_nobody():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
"""


def start(script: str, path: Path) -> subprocess.Popen[str]:
    """Start a script that finds the store's path as ``path``, and RawMessage, SqliteStore, raw and os imported."""
    code = PRELUDE + textwrap.dedent(script)
    project = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(processes: Sequence[subprocess.Popen[str]], *words: str) -> None:
    """Let all go on at once that have come to ``wait_for_go()``, which gives each its word."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process, word in zip(processes, words or ["go"] * len(processes), strict=True):
        assert process.stdin is not None
        process.stdin.write(f"{word}\n")
        process.stdin.flush()


def finish(process: subprocess.Popen[str]) -> str:
    """What the process printed; an AssertionError with its stderr where it failed."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


def run(script: str, path: Path) -> str:
    return finish(start(script, path))


def sentence_of(script: str, path: Path) -> str:
    """Run a script that is expected to end in a MemoryPipelineError; the error's sentence."""
    indented = textwrap.indent(textwrap.dedent(script), "    ")
    return run(
        f"try:\n{indented}\nexcept MemoryPipelineError as error:\n    print(type(error).__name__, error)\n", path
    )
