"""Moving house: everything of a store into another one, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import DOCUMENTS, Meta, RawMessage, Summary
from memory_pipeline.ingestion.copying import copy_store
from memory_pipeline.stores import MemoryStore
from memory_pipeline.stores.admission import canonical_json
from memory_pipeline.stores.elasticsearch import open_elasticsearch
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, meta, raw, summary, turn
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices

PREFIX = f"copied-{os.getpid()}"


@pytest.fixture
def full(tmp_path: Path) -> Iterator[MemoryStore]:
    """A store with something in several tiers."""
    with SqliteStore(tmp_path / "full.db") as store:
        store.ensure_indices()
        store.upsert(RawMessage, [raw(n, content=f"word {n} Grüße") for n in range(700)])
        store.upsert(type(turn()), [turn(n) for n in range(3)])
        store.upsert(Summary, [summary(f"idea {n}") for n in range(20)])
        store.put_vectors(Summary, {summary(f"idea {n}").doc_id: at_angle(n) for n in range(15)}, model=MODEL)
        store.upsert(type(fact("a")), [fact("a"), fact("b")])
        store.upsert(Meta, [meta("hidden:1", summary="x")])
        yield store


@pytest.fixture
def elastic(elasticsearch_server: str) -> Iterator[MemoryStore]:
    with open_elasticsearch(elasticsearch_server, None, prefix=PREFIX) as store:
        store.ensure_indices()
        yield store
    with Elasticsearch(elasticsearch_server) as client:
        drop_indices(client, PREFIX)


def everything(store: MemoryStore) -> list[str]:
    return [canonical_json(document.model_dump()) for kind in DOCUMENTS for document in store.scan(kind, vectors=True)]


def test_a_store_moves_to_elasticsearch_and_back(full: MemoryStore, elastic: MemoryStore, tmp_path: Path) -> None:
    seen: list[int] = []
    copied = copy_store(full, elastic, seen.append)
    assert all(one.is_equal for one in copied)
    assert sum(one.written for one in copied) == sum(one.documents for one in copied) == len(seen) == 726
    assert everything(elastic) == everything(full)
    assert elastic.embedding_model(Summary) == (MODEL, 4)
    with SqliteStore(tmp_path / "back.db") as back:
        back.ensure_indices()
        assert all(one.is_equal for one in copy_store(elastic, back, lambda _: None))
        assert everything(back) == everything(full)


def test_again_writes_nothing(full: MemoryStore, elastic: MemoryStore) -> None:
    copy_store(full, elastic, lambda _: None)
    again = copy_store(full, elastic, lambda _: None)
    assert [one.written for one in again] == [0] * len(again)
    assert all(one.is_equal for one in again)


def test_a_copy_that_was_stopped_goes_on(full: MemoryStore, elastic: MemoryStore) -> None:
    class Stopped(Exception):
        pass

    done = 0

    def stops(number: int) -> None:
        nonlocal done
        done += number
        if done == 650:
            raise Stopped

    with pytest.raises(Stopped):
        copy_store(full, elastic, stops)
    assert elastic.count(RawMessage) == 500
    again = copy_store(full, elastic, lambda _: None)
    assert {one.index: one.written for one in again}["raw"] == 200
    assert everything(elastic) == everything(full)


def test_what_only_the_target_holds_stays_and_is_counted(full: MemoryStore, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "other.db") as other:
        other.ensure_indices()
        other.upsert(RawMessage, [raw(0, session_id="0-first"), raw(9_999), raw(3, content="older words")])
        found = {one.index: one for one in copy_store(full, other, lambda _: None)}
        assert (found["raw"].further, found["raw"].missing, found["raw"].is_equal) == (2, 0, True)
        assert other.count(RawMessage) == 702


def test_what_the_target_refuses_is_named(full: MemoryStore, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "other.db") as other:
        other.ensure_indices()
        other.upsert(Summary, [summary("x", summary_embedding=at_angle(1, 8), embedding_model="another")])
        found = {one.index: one for one in copy_store(full, other, lambda _: None)}
        assert not found["summary"].is_equal
        assert found["summary"].missing == 15
        assert {refused.field for refused in found["summary"].refused} == {"embedding_model"}
