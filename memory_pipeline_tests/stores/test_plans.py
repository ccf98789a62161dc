"""How SQLite goes about the questions that must stay fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memory_pipeline.documents import Fact, RawMessage, Summary
from memory_pipeline.stores.contract import Where
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline.stores.sqlite.connection import Database
from memory_pipeline.stores.sqlite.schema import Tier
from memory_pipeline.stores.sqlite.search import Scope, nearest_sql
from memory_pipeline.stores.sqlite.where import compile_where
from memory_pipeline.stores.vectors import encode_vector
from memory_pipeline_tests.conformance.samples import AT, MODEL, at_angle, fact


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    with SqliteStore(tmp_path / "memory.db") as store:
        store.ensure_indices()
        store.upsert(Fact, [fact("one")])
        store.put_vectors(Fact, {fact("one").doc_id: at_angle(0)}, model=MODEL)
    database = Database(tmp_path / "memory.db")
    with database.read() as opened:
        yield opened
    database.close()


def plan(connection: apsw.Connection, sql: str, params: tuple[Any, ...]) -> str:
    return "\n".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", params).fetchall())


@pytest.mark.parametrize("where", [None, {"project": "/home/kim/work/garden"}])
def test_the_nearest_are_found_by_vec0s_own_search(connection: apsw.Connection, where: Where | None) -> None:
    tier = Tier(Fact, "memory")
    scope = Scope(connection, tier, compile_where(tier, where, MODEL))
    sql = nearest_sql(tier, scope)
    assert "vec_distance" not in sql
    knn = "VIRTUAL TABLE INDEX 0:3"  # sqlite-vec's number for a nearest-neighbour search; 1 is a full scan
    assert knn in plan(connection, sql, (encode_vector(at_angle(0)), 5))


INDEXED: list[tuple[Any, Where, str]] = [
    (RawMessage, {"session_id": "s"}, "memory-raw-session_id"),
    (RawMessage, {"session_id": ["s", "t"]}, "memory-raw-session_id"),
    (RawMessage, {"doc_id": ["s", "t"]}, "sqlite_autoindex_memory-raw_1"),
    (RawMessage, {"project": "p"}, "memory-raw-project"),
    (Summary, {"established_at": AT}, "memory-summary-established_at"),
    (Summary, {"source_refs.session_id": "s"}, "SEARCH e USING PRIMARY KEY"),
    (Summary, {"source_refs.turn_id": ["s_0", "s_1"]}, "SEARCH e USING PRIMARY KEY"),
    (Fact, {"invalid_at": None}, "memory-facts-invalid_at"),
]


@pytest.mark.parametrize(("kind", "where", "index"), INDEXED, ids=[str(where) for _, where, _ in INDEXED])
def test_indexed_fields_are_looked_up_not_searched_for(
    connection: apsw.Connection, kind: Any, where: Where, index: str
) -> None:
    tier = Tier(kind, "memory")
    clause = compile_where(tier, where, None)
    steps = plan(connection, f"SELECT count(*) FROM {tier.documents} AS d WHERE {clause.sql}", clause.params)
    assert index in steps
    assert "SCAN d" not in steps


def test_a_search_among_ten_thousand_vectors_takes_no_noticeable_time(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    vectors = generator.normal(size=(10_000, 384))
    facts = [fact(f"note {n}") for n in range(len(vectors))]
    with SqliteStore(tmp_path / "memory.db") as store:
        store.ensure_indices()
        store.upsert(Fact, facts)
        store.put_vectors(Fact, dict(zip((f.doc_id for f in facts), vectors, strict=True)), model=MODEL)
        start = time.perf_counter()
        hits = store.vector_search(Fact, vectors[4711].tolist(), k=25)
        seconds = time.perf_counter() - start
    cosines = vectors @ vectors[4711] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[4711])
    exact = [facts[n].doc_id for n in np.argsort(-cosines)[:25]]
    assert [hit.document.doc_id for hit in hits] == exact
    assert seconds < 1.0
