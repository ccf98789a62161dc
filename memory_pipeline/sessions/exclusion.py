"""What the user wants left out: folders of session files, and projects by the working folder in the header."""

from __future__ import annotations

import os
import re
from pathlib import Path

from memory_pipeline.sessions.projects import project_of
from memory_pipeline.settings import Settings


class Exclusion:
    """Answers for one sessions folder; relative excluded folders are meant below it."""

    def __init__(self, settings: Settings, root: Path) -> None:
        named = [os.path.normpath(root / folder) for folder in settings.exclude_folders]
        self._folders = {*named, *map(os.path.realpath, named)}
        self._projects = [os.path.normpath(project) for project in settings.exclude_projects]
        self._project_folders = {_folder_name(project) for project in self._projects}
        self._answers: dict[str, bool] = {}

    def folder(self, path: str) -> bool:
        """Whether this very folder is excluded; who walks down to a file asks for each on the way."""
        return bool(self._folders) and (path in self._folders or os.path.realpath(path) in self._folders)

    def project(self, cwd: str, path: str) -> bool:
        """Whether the session in the file ``path`` ran in an excluded project or a folder, or worktree, of one.

        A session without a header has no ``cwd``; it counts as excluded where pi's name for an excluded project is
        among its folders, for privacy goes first.
        """
        if not self._projects:
            return False
        if not cwd:
            return not self._project_folders.isdisjoint(Path(path).parts)
        if cwd not in self._answers:
            self._answers[cwd] = any(_within(cwd, p) or _within(project_of(cwd), p) for p in self._projects)
        return self._answers[cwd]


def _within(folder: str, project: str) -> bool:
    """A project without a path is meant by the name of its folder, wherever that is."""
    folder = os.path.normpath(folder)
    if os.sep not in project:
        return project in Path(folder).parts
    return folder == project or folder.startswith(project.rstrip(os.sep) + os.sep)


def _folder_name(cwd: str) -> str:
    """pi's name for the sessions of a working folder; it cannot be turned back (``a-b`` and ``a/b`` share one)."""
    return "--" + re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", cwd)) + "--"
