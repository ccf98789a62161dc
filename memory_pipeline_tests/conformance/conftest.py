"""The stores under test. A new store is added here and has to pass everything in this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.stores import MemoryStore
from memory_pipeline.stores.elasticsearch import ElasticsearchStore, open_elasticsearch
from memory_pipeline.stores.sqlite import SqliteStore


@pytest.fixture(params=["elasticsearch", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    """An empty store of each kind."""
    opened: MemoryStore
    if request.param == "elasticsearch":
        opened = request.getfixturevalue("empty_elasticsearch")
    else:
        opened = SqliteStore(tmp_path / "data" / "memory.db")
    with opened:
        opened.ensure_indices()
        yield opened


@pytest.fixture
def empty_elasticsearch(elasticsearch_server: str) -> Iterator[ElasticsearchStore]:
    """Indices take a tenth of a second each to make, so those that a test left empty are used again."""
    prefix = f"test-{os.getpid()}"
    yield open_elasticsearch(elasticsearch_server, None, prefix=prefix)
    with Elasticsearch(elasticsearch_server) as client:
        indices = f"{prefix}-*"
        client.indices.refresh(index=indices)
        rows: Any = client.cat.indices(index=indices, format="json", h="index,docs.count")
        mappings = client.indices.get_mapping(index=indices)
        for row in rows:
            mapped = mappings[row["index"]]["mappings"]["properties"]
            grown = any(p.get("type") == "dense_vector" for p in mapped.values()) or any("words_" in n for n in mapped)
            if int(row["docs.count"]) or grown or not row["index"].endswith("-v1"):
                client.indices.delete(index=row["index"])
