"""A session file as it lies on disk, and the one way this room opens files: read-only, never waiting."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memory_pipeline.errors import InputError


@dataclass(frozen=True, slots=True)
class SessionFile:
    """One session file. ``size`` in bytes and ``mtime_ns`` are what the listing saw; the file may have grown since."""

    path: Path
    session_id: str
    size: int
    mtime_ns: int


@contextmanager
def open_regular(path: Path | str) -> Iterator[BinaryIO]:
    """The file, opened for reading bytes.

    Raises InputError: missing, no permission, no regular file, or one that a read fails on (a bad disk, a lost mount).
    """
    try:
        # Without O_NONBLOCK the opening of a FIFO waits for a writer that may never come.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise InputError(unreadable(path, error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path} is not a regular file.")
    with os.fdopen(descriptor, "rb") as stream:
        try:
            yield stream
        except OSError as error:
            raise InputError(unreadable(path, error)) from None


def unreadable(path: Path | str, error: OSError | ValueError) -> str:
    """The sentence for a file or folder that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path} does not exist (any more)."
    if isinstance(error, PermissionError):
        return f"{path} cannot be read: no permission. Give this user the right to read it."
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
