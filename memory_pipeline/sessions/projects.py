"""From a working folder to the project it belongs to: the root of its repository, read from the file system."""

from __future__ import annotations

import os
from pathlib import Path

from memory_pipeline.errors import InputError
from memory_pipeline.sessions.files import open_regular


def project_of(cwd: str) -> str:
    """The repository root around ``cwd`` where that folder exists on this machine, else ``cwd`` as it is.

    A worktree counts as its main repository; a submodule is a repository of its own.
    """
    try:
        start = Path(os.path.normpath(cwd))
        if not start.is_absolute() or not start.is_dir():
            return cwd
        for folder in (start, *start.parents):
            marker = folder / ".git"
            if marker.is_dir():
                return str(folder)
            if marker.is_file():
                return str(_main_repository(folder, marker) or folder)
    except (OSError, ValueError):  # a path that this machine cannot even look for
        pass
    return cwd


def _main_repository(folder: Path, marker: Path) -> Path | None:
    """The main repository of the worktree in ``folder``; None where it is none."""
    pointer = _first_line(marker)
    if not pointer.startswith("gitdir:"):
        return None
    git_dir = folder / pointer.removeprefix("gitdir:").strip()
    common = _first_line(git_dir / "commondir")
    if not common:
        return None
    shared = Path(os.path.normpath(git_dir / common))
    # The shared folder of an ordinary repository is its ``.git``; a bare one is the repository itself.
    return shared.parent if shared.name == ".git" else shared


def _first_line(path: Path) -> str:
    try:
        with open_regular(path) as stream:
            return stream.readline(4096).decode().strip()
    except (InputError, OSError, UnicodeDecodeError):
        return ""
