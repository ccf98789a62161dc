"""Everything a store holds as plain objects, in a stable order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memory_pipeline.documents import TIERS
from memory_pipeline.ingestion.hiding import all_hidden
from memory_pipeline.ingestion.projects import is_called, of_project
from memory_pipeline.stores.contract import MemoryStore


def export(
    store: MemoryStore, *, tiers: Sequence[str] = tuple(TIERS), project: str | None = None, hidden: bool = False
) -> Iterator[dict[str, Any]]:
    """Each document with its ``tier``, every field but vectors; ordered by tier, then id.

    ``project`` is a project's path, or the name of its folder. ``hidden``: after them the memories that a person has
    hidden, each with ``hidden_at``.
    """
    for tier in tiers:
        kind = TIERS[tier]
        where = None if project is None else of_project(store, kind, project)
        vector = {kind.vector_field} if kind.vector_field else set()
        for document in store.scan(kind, where):
            yield {"tier": tier, **document.model_dump(mode="json", exclude=vector)}
    if hidden and "summaries" in tiers:
        for note in sorted(all_hidden(store), key=lambda note: note.memory.doc_id):
            if project is None or is_called(note.memory.project, project):
                shown = note.memory.model_dump(mode="json", exclude={"summary_embedding"})
                yield {"tier": "summaries", **shown, "hidden_at": note.hidden_at}
