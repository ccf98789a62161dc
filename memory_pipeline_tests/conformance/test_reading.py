"""Getting, paging and counting."""

from __future__ import annotations

import pytest

from memory_pipeline.documents import Fact, RawMessage, Summary, Turn
from memory_pipeline.errors import StoreError
from memory_pipeline.stores import MemoryStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, raw, refs, summary, turn


def test_get_keeps_the_order_asked_for_and_leaves_out_what_is_not_there(store: MemoryStore) -> None:
    documents = [raw(n) for n in range(5)]
    store.upsert(RawMessage, documents)
    asked = [documents[3].doc_id, "unknown", documents[0].doc_id, documents[3].doc_id]
    assert store.get(RawMessage, asked) == [documents[3], documents[0], documents[3]]


def test_scan_is_ordered_by_id_whatever_the_order_of_arrival(store: MemoryStore) -> None:
    documents = [raw(0, doc_id=doc_id) for doc_id in ("b", "a b", "ä", "a-b", "Z", "a,b")]
    store.upsert(RawMessage, documents)
    assert [document.doc_id for document in store.scan(RawMessage)] == ["Z", "a b", "a,b", "a-b", "b", "ä"]


def test_scan_orders_by_fields_then_by_id(store: MemoryStore) -> None:
    documents = [raw(n, turn_index=n // 2, message_index=-n) for n in range(12)]
    store.upsert(RawMessage, documents[::-1])
    wanted = sorted(documents, key=lambda d: (d.turn_index, d.message_index))
    assert list(store.scan(RawMessage, order=("turn_index", "message_index"))) == wanted
    assert list(store.scan(RawMessage, order=("turn_index", "message_index"), descending=True)) == wanted[::-1]
    assert list(store.scan(RawMessage, order=("role",))) == sorted(documents, key=lambda d: d.doc_id)


def test_scan_orders_by_a_field_of_an_object(store: MemoryStore) -> None:
    documents = [turn(n, distillation={"attempts": (n * 7) % 5}) for n in range(5)]
    store.upsert(Turn, documents)
    attempts = [document.distillation.attempts for document in store.scan(Turn, order=("distillation.attempts",))]
    assert attempts == [0, 1, 2, 3, 4]


def test_documents_without_a_value_come_last_either_way(store: MemoryStore) -> None:
    times = ["2026-01-01T00:00:00.000Z", None, "2026-02-01T00:00:00.000Z"]
    store.upsert(Fact, [fact(str(n), invalid_at=time) for n, time in enumerate(times)])
    assert [f.invalid_at for f in store.scan(Fact, order=("invalid_at",))] == [times[0], times[2], None]
    assert [f.invalid_at for f in store.scan(Fact, order=("invalid_at",), descending=True)] == [
        times[2],
        times[0],
        None,
    ]


def test_nothing_can_be_ordered_by_a_field_with_several_values(store: MemoryStore) -> None:
    with pytest.raises(StoreError, match="several values"):
        list(store.scan(Summary, order=("source_refs.turn_id",)))


def test_limit_takes_the_first(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n) for n in range(9)])
    first = store.scan(RawMessage, {"role": "user"}, order=("message_index",), descending=True, limit=2)
    assert [document.message_index for document in first] == [8, 7]
    assert list(store.scan(RawMessage, limit=0)) == []


def test_pages_hold_every_document_once(store: MemoryStore) -> None:
    documents = [raw(n, turn_index=n % 3) for n in range(2500)]
    store.upsert(RawMessage, documents)
    found = [document.doc_id for document in store.scan(RawMessage, order=("turn_index",))]
    assert len(found) == 2500
    assert found == [d.doc_id for d in sorted(documents, key=lambda d: (d.turn_index, d.doc_id))]
    assert found == [document.doc_id for document in store.scan(RawMessage, order=("turn_index",))]


def test_no_document_comes_twice_though_its_place_changes_meanwhile(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n, turn_index=n) for n in range(1500)])
    seen = []
    for number, document in enumerate(store.scan(RawMessage, order=("turn_index",))):
        seen.append(document.doc_id)
        if number % 100 == 0:
            store.upsert(RawMessage, [document.model_copy(update={"turn_index": 5000 + number})])
        if number == 400:
            store.delete(RawMessage, {"doc_id": [raw(0).doc_id, raw(1499).doc_id]})
            store.upsert(RawMessage, [raw(0, turn_index=9000)])
    assert len(seen) == len(set(seen))
    assert len(seen) in (1499, 1500)


def test_what_no_longer_matches_when_its_page_is_read_is_left_out(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n) for n in range(1500)])
    pages = store.scan(RawMessage, {"role": "user"})
    first = next(pages)
    store.upsert(RawMessage, [raw(n, role="tool") for n in range(1500)])
    assert {document.role for document in pages if document != first} <= {"user"}


def test_vectors_come_only_where_asked_for(store: MemoryStore) -> None:
    document = summary()
    store.upsert(Summary, [document])
    store.put_vectors(Summary, {document.doc_id: [0.6, 0.8]}, model=MODEL)
    for without in (*store.get(Summary, [document.doc_id]), *store.scan(Summary)):
        assert (without.summary_embedding, without.embedding_model) == (None, MODEL)
    for with_it in (
        *store.get(Summary, [document.doc_id], vectors=True),
        *store.scan(Summary, vectors=True),
    ):
        assert with_it.summary_embedding == pytest.approx([0.6, 0.8])


def test_groups_are_counted_by_value(store: MemoryStore) -> None:
    store.upsert(
        RawMessage,
        [
            raw(n, role="tool" if n % 3 else "user", on_active_path=n < 4, tool_name="read" if n % 3 else None)
            for n in range(9)
        ],
    )
    assert store.group_count(RawMessage, "role") == {"tool": 6, "user": 3}
    assert store.group_count(RawMessage, "role", {"message_index": [0, 1]}) == {"tool": 1, "user": 1}
    assert store.group_count(RawMessage, "tool_name") == {"read": 6}
    assert store.group_count(RawMessage, "on_active_path") == {"true": 4, "false": 5}
    assert store.group_count(RawMessage, "turn_index") == {"0": 9}
    assert store.group_count(RawMessage, "model") == {}


def test_groups_by_a_path_count_documents_not_values(store: MemoryStore) -> None:
    store.upsert(Summary, [summary("a", source_refs=refs("s", 0, 1, 2)), summary("b", source_refs=refs("t", 0))])
    store.upsert(Turn, [turn(0, distillation={"state": "none"}), turn(1)])
    assert store.group_count(Summary, "source_refs.session_id") == {"s": 1, "t": 1}
    assert store.group_count(Summary, "source_refs.session_id", {"source_refs.turn_id": "s_2"}) == {"s": 1}
    assert store.group_count(Turn, "distillation.state") == {"none": 1, "pending": 1}


def test_groups_by_model_count_documents_with_vectors(store: MemoryStore) -> None:
    documents = [summary(str(n)) for n in range(3)]
    store.upsert(Summary, documents)
    assert store.group_count(Summary, "embedding_model") == {}
    store.put_vectors(Summary, {d.doc_id: at_angle(0) for d in documents[:2]}, model=MODEL)
    assert store.group_count(Summary, "embedding_model") == {MODEL: 2}
