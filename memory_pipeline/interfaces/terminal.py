"""How the command line looks: progress, tables, durations. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from memory_pipeline.ingestion.progress import Budget

if TYPE_CHECKING:
    from memory_pipeline.models.ahead import EmbedsAhead

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

NOTES_SHOWN = 10
PACE_PERIOD = 3_600.0  # seconds of history that the time left is taken from: one model answer may take minutes
LINE_EVERY = 15.0  # seconds between lines where there is no terminal to draw a bar on

LABELS = {"index": "Indexing sessions", "distil": "Distilling turns", "embed": "Embedding memories"}


class TerminalProgress:
    """Bars on a terminal, a line now and then elsewhere. Satisfies ``ingestion.progress.Progress``."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._notes = 0
        self._last_line = time.monotonic()

    def expect(self, step: str, amount: int) -> None:
        task = self._task(step)
        self._bars.update(task, total=(self._bars.tasks[task].total or 0) + amount)

    def advance(self, step: str, amount: int = 1) -> None:
        self._bars.advance(self._task(step), amount)
        if not self._bars.console.is_terminal and time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            self._bars.console.print(self._line())

    def say(self, sentence: str) -> None:
        """A sentence above the bars."""
        self._bars.console.print(sentence, markup=False)

    def fetch(self, name: str, here: int, of: int) -> None:
        """A download: bytes that are here, of how many."""
        task = self._task(f"Fetching {name}, MB")
        self._bars.update(task, completed=here // 1_000_000, total=of // 1_000_000)

    def note(self, sentence: str) -> None:
        self._notes += 1
        if self._notes <= NOTES_SHOWN:
            self._bars.console.print(f"[yellow]·[/] {escape(sentence)}")
        elif self._notes == NOTES_SHOWN + 1:
            self._bars.console.print("[yellow]·[/] more of these: `memory-pipeline status` counts them all")

    def _task(self, step: str) -> TaskID:
        if step not in self._tasks:
            self._tasks[step] = self._bars.add_task(LABELS.get(step, step), total=0)
        return self._tasks[step]

    def _line(self) -> str:
        parts = []
        for task in self._bars.tasks:
            left = f", about {duration(task.time_remaining)} left" if task.time_remaining else ""
            parts.append(f"{task.description}: {int(task.completed)} of {int(task.total or 0)}{left}")
        return "; ".join(parts)


class TerminalReporter:
    """Hands every run of one command the same progress and the same budget (an orchestration ``Reporter``)."""

    def __init__(self, progress: TerminalProgress, budget: Budget) -> None:
        self._progress = progress
        self._budget = budget
        self.embeds_ahead: EmbedsAhead | None = None

    def progress(self, _context: object) -> TerminalProgress:
        return self._progress

    def budget(self, _context: object) -> Budget:
        self._budget.start_run()
        return self._budget

    def ahead(self) -> EmbedsAhead | None:
        return self.embeds_ahead


@contextmanager
def progress_bars() -> Iterator[TerminalProgress]:
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=err,
        speed_estimate_period=PACE_PERIOD,
    )
    with bars:
        yield TerminalProgress(bars)


def duration(seconds: float | None) -> str:
    """A length of time as people say it: ``8 s``, ``12 min``, ``5.2 h``."""
    if seconds is None:
        return "an unknown time"
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 1 or seconds == 0 else f"{seconds:.1f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"


def without_credentials(url: str) -> str:
    return str(httpx.URL(url).copy_with(userinfo=b""))


def size(amount: int) -> str:
    """Bytes as people say them."""
    value = float(amount)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1_000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1_000
    raise AssertionError


def command_name() -> str:
    """How this program was called, so that what we print can be pasted: by its name, or by its path."""
    called = Path(sys.argv[0])
    found = shutil.which("memory-pipeline")
    by_name = (found is not None and Path(found).resolve() == called.resolve()) or called.name != "memory-pipeline"
    return ("memory-pipeline" if by_name else os.path.relpath(called)) + (
        " --examples" if "--examples" in sys.argv else ""
    )
