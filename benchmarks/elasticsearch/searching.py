"""Searching many memories: both arms' union with both scores beside a bare kNN request, and what the graph misses."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from elasticsearch import Elasticsearch
from numpy.typing import NDArray
from rich.progress import track
from rich.table import Table

from benchmarks.corpus_text import Project, TurnText, Wording
from memory_pipeline.batches import batched
from memory_pipeline.documents import SourceRef, Summary
from memory_pipeline.retrieval.query import query_terms
from memory_pipeline.stores.elasticsearch import ElasticsearchStore, open_elasticsearch, search
from memory_pipeline.stores.elasticsearch.vector_fields import INDEX_OPTIONS

DIMENSIONS = 384
TOPICS = 1_000
SPREAD = 0.8
"""Length of what a vector differs from its topic's direction, whose length is 1."""
QUERIES = 200
WORDS = 8
"""Of a query's text, as people ask; about half of them are stop words."""
K = 20
GOAL = 2.0
GOAL_RECALL = 0.98
_PROJECT = Project(0, 0)
_AS_SHIPPED = search.EXACT_BELOW
_AT = "2026-01-01T00:00:00.000Z"
Vectors = NDArray[np.float32]


def table(url: str, client: Elasticsearch, prefix: str, count: int) -> Table:
    """Every way takes its turn for each query, so that all see the same state of the server."""
    rng = np.random.default_rng(0)
    topics = _unit(rng.standard_normal((TOPICS, DIMENSIONS)))
    queries = _around(topics, QUERIES, rng)
    texts = [" ".join(_turn(-1 - number).ask.split()[:WORDS]) for number in range(QUERIES)]
    alias = f"{prefix}-{Summary.index}"
    with open_elasticsearch(url, None, prefix=prefix) as store:
        store.ensure_indices()
        filled = _fill(store, _around(topics, count, rng))
        client.indices.refresh(index=alias)
        took: dict[str, list[float]] = {}
        found: dict[str, list[set[str]]] = {}

        def asked(name: str, work: Callable[[], set[str]]) -> None:
            started = time.perf_counter()
            ids = work()
            took.setdefault(name, []).append(time.perf_counter() - started)
            found.setdefault(name, []).append(ids)

        for warm in (True, False):
            for query, text in zip(queries.tolist(), texts, strict=True):
                terms = query_terms(text)
                asked("bare", lambda: _bare(client, alias, query))  # noqa: B023  # run at once
                asked("candidates", lambda: _candidates(store, terms, query))  # noqa: B023
                search.EXACT_BELOW = 0
                asked("graph", lambda: _nearest(store, query))  # noqa: B023
                search.EXACT_BELOW = count + 1
                asked("exact", lambda: _nearest(store, query))  # noqa: B023
                search.EXACT_BELOW = _AS_SHIPPED
            if warm:
                took.clear()
                found.clear()
    return _described(count, filled, took, found)


def _described(count: int, filled: float, took: dict[str, list[float]], found: dict[str, list[set[str]]]) -> Table:
    title = f"{count:,} memories (filled in {filled:.0f} s), {QUERIES} queries, k = {K}"
    shown = Table(title=title, title_justify="left")
    for column in ("asked", "median ms", "p95 ms", f"p95 ratio (goal {GOAL})", f"recall@10 (goal {GOAL_RECALL})"):
        shown.add_column(column, justify="left" if column == "asked" else "right")
    bare = _p95(took["bare"])
    names = {
        "bare": "a bare kNN request",
        "candidates": "both scores for the union of both arms, with statistics",
        "graph": "the vector arm by the graph (int8 HNSW, re-scored)",
        "exact": "the vector arm, every vector compared",
    }
    for name, told in names.items():
        recall = f"{_recall(found[name], found['exact']):.3f}"
        median, p95 = 1000 * statistics.median(took[name]), _p95(took[name])
        shown.add_row(told, f"{median:.1f}", f"{1000 * p95:.1f}", f"{p95 / bare:.2f}", recall)
    return shown


def _p95(seconds: Sequence[float]) -> float:
    return float(np.quantile(seconds, 0.95))


def _recall(found: list[set[str]], exact: list[set[str]]) -> float:
    return statistics.mean(len(one & other) / len(other) for one, other in zip(found, exact, strict=True))


def _bare(client: Elasticsearch, alias: str, query: list[float]) -> set[str]:
    knn = {"field": Summary.vector_field, "query_vector": query, "k": K, "num_candidates": 200}
    hits = client.search(index=alias, knn=knn, size=K, source_excludes=Summary.vector_field)["hits"]["hits"]
    return {hit["_id"] for hit in hits[:10]}


def _candidates(store: ElasticsearchStore, terms: list[str], query: list[float]) -> set[str]:
    hits = [hit for hit in store.candidates(Summary, terms, query, k=K).hits if hit.cosine is not None]
    return {hit.document.doc_id for hit in sorted(hits, key=lambda hit: -(hit.cosine or 0.0))[:10]}


def _nearest(store: ElasticsearchStore, query: list[float]) -> set[str]:
    return {hit.document.doc_id for hit in store.vector_search(Summary, query, k=10)}


def _fill(store: ElasticsearchStore, vectors: Vectors) -> float:
    started = time.perf_counter()
    numbered = list(enumerate(vectors))
    total = len(numbered) // 1_000
    for batch in track(batched(numbered, 1_000), f"Filling ({INDEX_OPTIONS['type']})", total=total):
        result = store.upsert(Summary, [_memory(number, vector.tolist()) for number, vector in batch])
        assert result.written == len(batch), result
    return time.perf_counter() - started


def _memory(number: int, vector: list[float]) -> Summary:
    text = _turn(number).outcome[:400]
    session = f"session-{number // 50}"
    return Summary(
        doc_id=Summary.make_id(session, f"{session}_{number}", f"{number} {text}"),
        summary=text,
        tags=["a-tag"],
        source_refs=[SourceRef(session_id=session, turn_id=f"{session}_{number}", doc_id=f"{session}_{number}_0")],
        established_at=_AT,
        summarized_at=_AT,
        model="extractive-1",
        project=f"/home/ann/src/app-{number % 20}",
        origin="laptop",
        language="en",
        trust="user",
        prompt_version="1",
        summary_embedding=vector,
        embedding_model="synthetic",
    )


def _turn(number: int) -> TurnText:
    return Wording(_PROJECT, random.Random(number)).turn()


def _around(topics: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    """Vectors of unit length, each near one of the topics."""
    chosen = topics[rng.integers(0, len(topics), count)]
    away = _unit(rng.standard_normal((count, DIMENSIONS)))
    return _unit(chosen + SPREAD * away)


def _unit(vectors: NDArray[np.floating]) -> Vectors:
    found: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return found
