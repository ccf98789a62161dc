"""Everything a store holds as plain objects, in a stable order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from memory_pipeline.documents import TIERS, Document
from memory_pipeline.stores.contract import MemoryStore, Where


def export(
    store: MemoryStore, *, tiers: Sequence[str] = tuple(TIERS), project: str | None = None
) -> Iterator[dict[str, Any]]:
    """Each document with its ``tier``, every field but vectors; ordered by tier, then id.

    ``project`` is a project's path, or the name of its folder.
    """
    for tier in tiers:
        kind = TIERS[tier]
        where = None if project is None else _of_project(store, kind, project)
        hidden = {kind.vector_field} if kind.vector_field else set()
        for document in store.scan(kind, where):
            yield {"tier": tier, **document.model_dump(mode="json", exclude=hidden)}


def _of_project(store: MemoryStore, kind: type[Document], project: str) -> Where:
    wanted = project.rstrip("/\\")
    names = store.group_count(kind, "project")
    return {"project": [name for name in names if wanted in (name, PurePath(name.replace("\\", "/")).name)]}
