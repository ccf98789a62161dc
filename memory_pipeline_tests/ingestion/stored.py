"""All that a store holds, to be searched for what must not be in it."""

from __future__ import annotations

from memory_pipeline.documents import DOCUMENTS
from memory_pipeline.stores.contract import MemoryStore


def everything(store: MemoryStore) -> str:
    """Every document as a line of JSON."""
    return "\n".join(document.model_dump_json() for kind in DOCUMENTS for document in store.scan(kind))
