"""Search with the real embedding model in llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_pipeline.documents import Summary
from memory_pipeline.models import open_embedder
from memory_pipeline.models.contract import Embedder
from memory_pipeline.retrieval import search
from memory_pipeline.settings import load_settings
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.retrieval.samples import summary

MEMORIES = [
    "The nightly backup of the database starts at 02:00.",
    "Invoices are dated with the Swedish calendar day.",
    "The label printer listens on TCP port 9100.",
    "Commit messages follow Conventional Commits with a scope.",
    "Search stays in PostgreSQL; Meilisearch was rejected.",
    "Hauke never reads his mail, so phone him.",
    "Each vitest worker has a database of its own.",
    "The reverse proxy limits uploads to 100 MB.",
]


@pytest.fixture(scope="module")
def embedder(models_dir: Path) -> Iterator[Embedder]:
    opened = open_embedder(load_settings(env_file=None, models_dir=models_dir))
    yield opened
    opened.close()


@pytest.fixture
def store(tmp_path: Path, embedder: Embedder) -> Iterator[MemoryStore]:
    with SqliteStore(tmp_path / "memory.db") as opened:
        opened.ensure_indices()
        documents = [summary(text, turn_index=n) for n, text in enumerate(MEMORIES)]
        opened.upsert(Summary, documents)
        vectors = dict(zip([d.doc_id for d in documents], embedder.embed(MEMORIES), strict=True))
        opened.put_vectors(Summary, vectors, model=embedder.model)
        opened.refresh()
        yield opened


@pytest.mark.parametrize(
    ("query", "memory"),
    [
        ("What is the best way to reach our contact person? Call or write?", MEMORIES[5]),
        ("file size restrictions when sending photos", MEMORIES[7]),
        ("how are bills timestamped?", MEMORIES[1]),
    ],
)
def test_a_paraphrase_without_a_common_word_is_found_by_meaning_and_not_by_words(
    store: MemoryStore, embedder: Embedder, query: str, memory: str
) -> None:
    result = search(store, embedder, query, k=3)
    assert result.degraded is None
    assert memory in [found.snippet for found in result.found]
    assert memory not in [found.snippet for found in search(store, None, query, k=3).found]


def test_the_right_words_still_come_first(store: MemoryStore, embedder: Embedder) -> None:
    assert search(store, embedder, "TCP port of the printer").found[0].snippet == MEMORIES[2]
