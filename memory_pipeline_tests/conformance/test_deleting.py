"""Deleting reaches every arm; expiry deletes what is over."""

from __future__ import annotations

import pytest

from memory_pipeline.documents import DailyLog, RawMessage, Summary
from memory_pipeline.stores import BulkResult, Exclude, MemoryStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, daily_log, raw, refs, summary


def test_what_is_deleted_is_found_by_nothing_any_more(store: MemoryStore) -> None:
    gone = summary("The gate code is kept by Robin.", source_refs=refs("session-9", 0, 1))
    kept = summary("The gate is painted green.")
    store.upsert(Summary, [gone, kept])
    store.put_vectors(Summary, {gone.doc_id: at_angle(0), kept.doc_id: at_angle(90)}, model=MODEL)
    assert store.delete(Summary, {"source_refs.session_id": "session-9"}) == 1
    assert store.delete(Summary, {"source_refs.session_id": "session-9"}) == 0
    assert store.get(Summary, [gone.doc_id]) == []
    assert [d.doc_id for d in store.scan(Summary)] == [kept.doc_id]
    assert store.keyword_search(Summary, ["robin"], k=5) == []
    assert [hit.document.doc_id for hit in store.vector_search(Summary, at_angle(0), k=5)] == [kept.doc_id]
    found = store.candidates(Summary, ["robin", "gate"], at_angle(0), k=5)
    assert [hit.document.doc_id for hit in found.hits] == [kept.doc_id]
    assert (found.document_count, found.document_frequency) == (1, {"robin": 0, "gate": 1})
    assert len(found.background) == 1
    assert store.count(Summary, {"source_refs.turn_id": "session-9_1"}) == 0
    assert store.group_count(Summary, "source_refs.session_id") == {"session-1": 1}


def test_what_comes_back_after_a_deletion_is_new(store: MemoryStore) -> None:
    document = summary()
    store.upsert(Summary, [document])
    store.put_vectors(Summary, {document.doc_id: at_angle(0)}, model=MODEL)
    store.delete(Summary, {"doc_id": document.doc_id})
    assert store.upsert(Summary, [document]) == BulkResult(written=1)
    assert store.count(Summary, {"embedding_model": None}) == 1
    assert store.vector_search(Summary, at_angle(0), k=5) == []


def test_all_but_some_can_be_deleted(store: MemoryStore) -> None:
    store.upsert(Summary, [summary(f"idea {n}") for n in range(4)])
    keep = Exclude((summary("idea 2").doc_id,))
    assert store.delete(Summary, {"source_refs.turn_id": "session-1_0", "doc_id": keep}) == 3
    assert [document.summary for document in store.scan(Summary)] == ["idea 2"]


def test_thousands_are_deleted_in_batches(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n, role="tool" if n < 1500 else "user") for n in range(1600)])
    assert store.delete(RawMessage, {"role": "tool"}) == 1500
    assert store.count(RawMessage) == 100
    assert len(store.keyword_search(RawMessage, ["message"], k=1000)) == 100


def test_deleting_without_a_filter_is_an_error(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    with pytest.raises(ValueError, match="filter"):
        store.delete(RawMessage, {})
    assert store.count(RawMessage) == 1


def test_a_filter_that_matches_nothing_deletes_nothing(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    assert store.delete(RawMessage, {"doc_id": []}) == 0
    assert store.count(RawMessage) == 1


def test_what_is_over_expires_and_nothing_else(store: MemoryStore) -> None:
    now, before, after = "2026-06-01T00:00:00.000Z", "2026-05-31T23:59:59.999Z", "2026-06-01T00:00:00.001Z"
    store.upsert(DailyLog, [daily_log("old words", before), daily_log("words now", now), daily_log("new words", after)])
    store.upsert(RawMessage, [raw(0)])
    store.put_vectors(DailyLog, {daily_log("old words", before).doc_id: at_angle(0)}, model=MODEL)
    assert store.expire(now) == 2
    assert store.expire(now) == 0
    assert [log.text for log in store.scan(DailyLog)] == ["new words"]
    assert len(store.keyword_search(DailyLog, ["words"], k=5)) == 1
    assert store.vector_search(DailyLog, at_angle(0), k=5) == []
    assert store.count(RawMessage) == 1


@pytest.mark.parametrize("now", ["", "2026-06-01", "2026-06-01T00:00:00Z", "now"])
def test_expiry_needs_a_timestamp_as_documents_have_it(store: MemoryStore, now: str) -> None:
    store.upsert(DailyLog, [daily_log("old", "2026-01-01T00:00:00.000Z")])
    with pytest.raises(ValueError, match="pattern"):
        store.expire(now)
    assert store.count(DailyLog) == 1
