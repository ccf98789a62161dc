"""A project by the words that people use for it."""

from __future__ import annotations

from pathlib import PurePath

from memory_pipeline.documents import Document
from memory_pipeline.stores.contract import Condition, MemoryStore


def of_project(store: MemoryStore, kind: type[Document], project: str) -> dict[str, Condition]:
    """The filter for a project's documents; ``project`` is its path, or the name of its folder."""
    return {"project": [name for name in store.group_count(kind, "project") if is_called(name, project)]}


def is_called(path: str, project: str) -> bool:
    """Whether the project at ``path`` is the one that people call ``project``."""
    return project.rstrip("/\\") in (path, PurePath(path.replace("\\", "/")).name)
