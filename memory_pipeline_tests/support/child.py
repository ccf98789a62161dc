"""Runs a function of a test in a process of its own: as an ordinary user, or to measure it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

NOBODY = 65534


def in_child(
    function: Callable[..., Any],
    *arguments: Any,
    first: Callable[[], object] = int,
    as_nobody: bool = False,
) -> Any:
    """What the function returns there; what it raises, as a RuntimeError of the same text.

    ``as_nobody``: without root's rights, which no permission stops; an ordinary user stays who he is. ``first`` runs
    before they go, to import what may lie where only root can read.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, first, as_nobody, function, arguments))
    process.start()
    theirs.close()
    try:
        done, result = ours.recv()
    except EOFError:
        done, result = False, "the child died"
    process.join()
    if not done:
        raise RuntimeError(result)
    return result


def _run(
    answer: Connection,
    first: Callable[[], object],
    as_nobody: bool,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    try:
        first()
        if as_nobody and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        answer.send((True, function(*arguments)))
    except BaseException as error:  # whatever it is, the parent tells it
        answer.send((False, f"{type(error).__name__}: {error}"))


def peak_memory() -> int:
    """Bytes of memory that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A temporary folder that other users may enter, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def hand_over(folder: Path) -> None:
    """Let the other user read and write a folder and all in it."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
