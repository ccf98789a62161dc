"""What assets are given: the logs, the store, the models. Each reads the settings when it is used.

No setting is a resource field: fields are shown in the UI and kept with runs, and some of ours are keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import dagster as dg

from memory_pipeline.distillation import DistillationEngine, open_engine
from memory_pipeline.embedders import open_embedder
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.models import open_chat
from memory_pipeline.models.contract import Embedder
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import MemoryStore


class SessionLogs(dg.ConfigurableResource[None]):
    """The folder of pi's session logs, and the redaction that everything read from it goes through."""

    def catalog(self) -> Catalog:
        return Catalog(load_settings())


class Store(dg.ConfigurableResource[None]):
    """Where memories are kept: SQLite in the data folder, or Elasticsearch where ES_URL is set."""

    @contextmanager
    def open(self) -> Iterator[MemoryStore]:
        with open_store(load_settings()) as store:
            yield store


class LlamaCpp(dg.ConfigurableResource[None]):
    """The models: chat at LLAMA_URL (or extraction without one), embeddings by our own llama.cpp or a server."""

    @contextmanager
    def engine(self) -> Iterator[DistillationEngine]:
        settings = load_settings()
        with closing(open_engine(settings, lambda: open_chat(settings))) as engine:
            yield engine

    @contextmanager
    def embedder(self) -> Iterator[Embedder]:
        with closing(open_embedder(load_settings())) as embedder:
            yield embedder
