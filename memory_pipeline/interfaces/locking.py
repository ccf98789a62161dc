"""One writer at a time in a data folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from memory_pipeline.errors import InputError
from memory_pipeline.private import private_folder
from memory_pipeline.settings import Settings


@contextmanager
def only_run(settings: Settings) -> Iterator[None]:
    """Hold the data folder for one command; InputError where another has it. The lock goes with the process, however
    that ends.
    """
    lock = FileLock(private_folder(settings.data_dir) / "run.lock", mode=0o600)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InputError(
            f"Another memory-pipeline run is at work on {settings.data_dir}; try again when it has ended."
        ) from None
    try:
        yield
    finally:
        lock.release()
