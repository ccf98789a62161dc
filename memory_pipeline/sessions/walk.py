"""Finds ``*.jsonl`` files below a folder by listing and stat alone: any depth, links followed, each real file once."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memory_pipeline.sessions.files import unreadable

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file. ``ancestors``: stems of the sessions in whose folders it lies, outermost first."""

    path: str
    ancestors: tuple[str, ...]
    size: int
    mtime_ns: int

    @property
    def stem(self) -> str:
        # Strings, not Paths, here and below: for thousands of files these would take longer than all the rest.
        return os.path.basename(self.path).removesuffix(SUFFIX)  # noqa: PTH119


Report = Callable[[str, str], None]
"""Takes the path that cannot be read and the reason."""


def ignore(_path: str, _reason: str) -> None:
    """For who only wants what can be read."""


def walk(root: str, skip: Callable[[str], bool], report: Report, *, deep: bool = True) -> Iterator[Found]:
    """Every session-like file below ``root`` except in folders that ``skip`` names; ``deep`` False: in ``root`` alone.

    Real files come before links, so that a file with two names is found by its own. Links that lead nowhere and what
    cannot be read go to ``report``; loops end, FIFOs and the like are passed over.
    """
    seen: set[tuple[int, int]] = set()
    folders: list[tuple[str, tuple[str, ...]]] = [(root, ())]
    linked_folders: list[tuple[str, tuple[str, ...]]] = []
    linked_files: list[tuple[str, tuple[str, ...]]] = []
    while folders or linked_folders:
        folder, ancestors = folders.pop() if folders else linked_folders.pop()
        if _seen_before(folder, seen, report):
            continue
        entries = _entries(folder, report)
        stems = {entry.name[: -len(SUFFIX)] for entry in entries if entry.name.endswith(SUFFIX)}
        for entry in entries:
            if _is_folder(entry):
                if deep and not skip(entry.path):
                    inside = (*ancestors, entry.name) if entry.name in stems else ancestors
                    (linked_folders if entry.is_symlink() else folders).append((entry.path, inside))
            elif entry.name.endswith(SUFFIX):
                if entry.is_symlink():
                    linked_files.append((entry.path, ancestors))
                else:
                    yield from _file(entry.path, ancestors, seen, report)
    for path, ancestors in linked_files:
        yield from _file(path, ancestors, seen, report)


def _entries(folder: str, report: Report) -> list[os.DirEntry[str]]:
    """What the folder holds, in reverse order of names, as they are taken from the end of a list."""
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name, reverse=True)
    except OSError as error:
        report(folder, unreadable(folder, error))
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads round in a circle; reported as a file, if it is named like one
        return False


def _seen_before(folder: str, seen: set[tuple[int, int]], report: Report) -> bool:
    status = _status(folder, report)
    return status is None or _known(status, seen)


def _file(path: str, ancestors: tuple[str, ...], seen: set[tuple[int, int]], report: Report) -> Iterator[Found]:
    status = _status(path, report)
    if status is not None and stat.S_ISREG(status.st_mode) and not _known(status, seen):
        yield Found(path, ancestors, status.st_size, status.st_mtime_ns)


def _status(path: str, report: Report) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  # not the entry's own: on Windows that one knows no inode
    except OSError as error:
        report(path, unreadable(path, error))
        return None


def _known(status: os.stat_result, seen: set[tuple[int, int]]) -> bool:
    key = (status.st_dev, status.st_ino)
    if key in seen:
        return True
    seen.add(key)
    return False
