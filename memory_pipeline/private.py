"""Folders and files that only their owner may read: memories are as private as the logs they come from."""

from __future__ import annotations

from pathlib import Path

from memory_pipeline.errors import InputError


def private_folder(path: Path, *, variable: str = "MEMORY_DATA_DIR") -> Path:
    """Make the folder (0700) and its parents where missing; one that is there is made private too.

    ``variable`` is the setting that the sentence of an error names.

    Raises InputError with a sentence where that is not possible.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except FileExistsError:
        raise InputError(f"{path} is a file, where a folder is needed; check {variable}.") from None
    except OSError as error:
        raise InputError(
            f"The folder {path} can't be used ({error.strerror}); it must be yours. Check {variable}."
        ) from None
    return path
