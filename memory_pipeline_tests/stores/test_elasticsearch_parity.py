"""The same documents and queries on SQLite and on Elasticsearch: the labelled set's 166 turns and 120 queries.

Measured with Elasticsearch 8.19.13: vectors differ by 7e-7 at most, the top tens of the keyword arm overlap by .963 on
average and .70 at least. They differ where documents score nearly alike: Lucene keeps the length of a document in one
byte, so lengths above 40 words are rounded down in ever coarser steps, while FTS5 keeps them exactly.
"""

from __future__ import annotations

import json
import statistics
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import Summary
from memory_pipeline.models import open_embedder
from memory_pipeline.redaction import Redactor
from memory_pipeline.retrieval.query import query_terms
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import Candidates, Hit, MemoryStore
from memory_pipeline.stores.elasticsearch import open_elasticsearch, search
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.conformance.samples import summary
from memory_pipeline_tests.distillation.labelled import read_session
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices

TURNS, QUERIES = 166, 120


@dataclass(frozen=True, slots=True)
class Query:
    terms: list[str]
    vector: list[float]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two stores with the same documents, and what is asked of both."""

    sqlite: MemoryStore
    elasticsearch: MemoryStore
    queries: list[Query]


@pytest.fixture(scope="module")
def pair(
    elasticsearch_server: str, shared_data: Path, models_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    evalset, folder = shared_data / "evalset", tmp_path_factory.mktemp("parity")
    redactor = Redactor(folder / "rules", b"key of the tests")
    turns = [
        turn for path in sorted((evalset / "sessions").rglob("*.jsonl")) for turn in read_session(path, redactor).turns
    ]
    documents = [summary(f"{Path(turn.project).name}: {turn.text}", doc_id=turn.doc_id) for turn in turns]
    asked = [query["query"] for query in json.loads((evalset / "labels.json").read_text())["queries"]]
    assert (len(documents), len(asked)) == (TURNS, QUERIES)
    with closing(open_embedder(load_settings(env_file=None, models_dir=models_dir))) as embedder:
        vectors = dict(zip((d.doc_id for d in documents), embedder.embed([d.summary for d in documents]), strict=True))
        queries = [Query(query_terms(text), embedder.embed([text])[0]) for text in asked]
    prefix = f"parity-{uuid.uuid4().hex[:8]}"
    with (
        SqliteStore(folder / "memory.db") as sqlite,
        open_elasticsearch(elasticsearch_server, None, prefix=prefix) as elasticsearch,
    ):
        for store in (sqlite, elasticsearch):
            store.ensure_indices()
            assert store.upsert(Summary, documents).written == TURNS
            assert store.put_vectors(Summary, vectors, model="all-MiniLM-L6-v2").written == TURNS
        yield Pair(sqlite, elasticsearch, queries)
    with Elasticsearch(elasticsearch_server) as client:
        drop_indices(client, prefix)


def scores(hits: list[Hit[Summary]]) -> dict[str, float]:
    return {hit.document.doc_id: hit.score for hit in hits}


def cosines(found: Candidates[Summary]) -> dict[str, float | None]:
    return {hit.document.doc_id: hit.cosine for hit in found.hits}


def test_the_vector_arm_gives_the_same_ten_with_the_same_cosines(pair: Pair) -> None:
    for query in pair.queries:
        ours, theirs = (
            scores(store.vector_search(Summary, query.vector, k=10)) for store in (pair.sqlite, pair.elasticsearch)
        )
        assert ours == pytest.approx(theirs, abs=1e-3)


def test_the_graph_of_a_large_index_finds_them_too(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [scores(pair.sqlite.vector_search(Summary, query.vector, k=10)) for query in pair.queries]
    monkeypatch.setattr(search, "EXACT_BELOW", 0)
    found = [scores(pair.elasticsearch.vector_search(Summary, query.vector, k=10)) for query in pair.queries]
    agreeing = [len(one.keys() & other.keys()) / 10 for one, other in zip(wanted, found, strict=True)]
    assert statistics.mean(agreeing) >= 0.98
    for one, other in zip(wanted, found, strict=True):
        same = one.keys() & other.keys()
        assert {name: one[name] for name in same} == pytest.approx({name: other[name] for name in same}, abs=1e-3)


def test_the_keyword_arm_finds_the_same_documents_and_ranks_them_nearly_alike(pair: Pair) -> None:
    overlaps = []
    for query in pair.queries:
        ours, theirs = (
            scores(store.keyword_search(Summary, query.terms, k=TURNS)) for store in (pair.sqlite, pair.elasticsearch)
        )
        assert ours.keys() == theirs.keys()
        if ours:
            overlaps.append(overlap_of_tens(ours, theirs))
    assert len(overlaps) >= 0.9 * QUERIES
    assert statistics.mean(overlaps) >= 0.9
    assert min(overlaps) >= 0.7


def overlap_of_tens(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    one, other = (set(sorted(found, key=lambda name: (-found[name], name))[:10]) for found in (ours, theirs))
    return len(one & other) / len(one)


def test_the_union_has_both_scores_and_the_same_statistics(pair: Pair) -> None:
    for query in pair.queries:
        ours, theirs = (
            store.candidates(Summary, query.terms, query.vector, k=TURNS) for store in (pair.sqlite, pair.elasticsearch)
        )
        assert cosines(ours) == pytest.approx(cosines(theirs), abs=1e-3)
        assert {hit.document.doc_id: hit.terms for hit in ours.hits} == {
            hit.document.doc_id: hit.terms for hit in theirs.hits
        }
        assert all((hit.keyword_score > 0) == bool(hit.terms) for hit in theirs.hits)
        assert (ours.document_count, ours.document_frequency) == (theirs.document_count, theirs.document_frequency)
        assert sorted(ours.background) == pytest.approx(sorted(theirs.background), abs=1e-3)
