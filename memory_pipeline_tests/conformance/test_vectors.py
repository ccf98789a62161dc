"""Vectors: whose they are, and that they are never mixed, lost or claimed."""

from __future__ import annotations

import pytest

from memory_pipeline.documents import DailyLog, Fact, RawMessage, Summary
from memory_pipeline.errors import EmbeddingMismatch, StoreError
from memory_pipeline.stores import BulkResult, Exclude, MemoryStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, raw, summary


@pytest.fixture
def ids(store: MemoryStore) -> list[str]:
    """Three summaries with vectors of 4 numbers."""
    documents = [summary(f"idea {n}") for n in range(3)]
    store.upsert(Summary, documents)
    result = store.put_vectors(Summary, {d.doc_id: at_angle(n) for n, d in enumerate(documents)}, model=MODEL)
    assert result == BulkResult(written=3)
    return [document.doc_id for document in documents]


def test_the_first_vectors_fix_model_and_dimensions_of_their_index_alone(store: MemoryStore, ids: list[str]) -> None:
    assert store.embedding_model(Summary) == (MODEL, 4)
    assert store.embedding_model(Fact) is None
    assert store.embedding_model(DailyLog) is None
    assert store.embedding_model(RawMessage) is None


def test_the_same_vectors_again_change_nothing(store: MemoryStore, ids: list[str]) -> None:
    assert store.put_vectors(Summary, {ids[0]: at_angle(0)}, model=MODEL) == BulkResult(unchanged=1)
    again = store.get(Summary, ids, vectors=True)
    assert store.put_vectors(Summary, {d.doc_id: d.summary_embedding or [] for d in again}, model=MODEL).unchanged == 3
    assert store.upsert(Summary, again) == BulkResult(unchanged=3)
    assert store.put_vectors(Summary, {ids[0]: at_angle(50)}, model=MODEL) == BulkResult(written=1)
    assert store.vector_search(Summary, at_angle(50), k=1)[0].document.doc_id == ids[0]


def test_vectors_of_another_model_are_refused_as_a_whole(store: MemoryStore, ids: list[str]) -> None:
    with pytest.raises(EmbeddingMismatch, match=rf"(?s){MODEL}.*other-model.*reembed"):
        store.put_vectors(Summary, {ids[0]: at_angle(90)}, model="other-model")
    assert store.embedding_model(Summary) == (MODEL, 4)
    assert store.get(Summary, [ids[0]], vectors=True)[0].summary_embedding == pytest.approx(at_angle(0))


def test_a_query_of_another_length_is_refused_not_answered_by_words(store: MemoryStore, ids: list[str]) -> None:
    with pytest.raises(EmbeddingMismatch, match=r"8 numbers.*4.*reembed"):
        store.vector_search(Summary, at_angle(0, 8), k=3)
    with pytest.raises(EmbeddingMismatch, match=r"8 numbers.*4.*reembed"):
        store.candidates(Summary, ["idea"], at_angle(0, 8), k=3)


def test_single_bad_vectors_are_refused_by_name(store: MemoryStore, ids: list[str]) -> None:
    result = store.put_vectors(
        Summary,
        {
            "unknown-id": at_angle(0),
            ids[0]: at_angle(0, 8),
            ids[1]: [float("nan"), 0.0, 0.0, 1.0],
            ids[2]: at_angle(77),
        },
        model=MODEL,
    )
    assert result.written == 1
    assert [(refused.doc_id, refused.field) for refused in result.refused] == [
        ("unknown-id", "doc_id"),
        (ids[0], "summary_embedding"),
        (ids[1], "summary_embedding"),
    ]


@pytest.mark.parametrize(
    "vector", [[], [0.0, 0.0], [float("inf"), 1.0], [1e300, 1.0], [[1.0], [0.0]], ["1", "0"], [None]]
)
def test_what_has_no_direction_is_no_vector(store: MemoryStore, vector: list[float]) -> None:
    store.upsert(Summary, [summary()])
    [refused] = store.put_vectors(Summary, {summary().doc_id: vector}, model=MODEL).refused
    assert refused.field == "summary_embedding"
    assert store.embedding_model(Summary) is None
    with pytest.raises(StoreError, match="query's vector"):
        store.vector_search(Summary, vector, k=1)


def test_unknown_ids_do_not_fix_the_model(store: MemoryStore) -> None:
    assert len(store.put_vectors(Summary, {"unknown": at_angle(0)}, model=MODEL).refused) == 1
    assert store.embedding_model(Summary) is None


def test_vectors_survive_when_their_document_is_stored_again_without_one(store: MemoryStore, ids: list[str]) -> None:
    assert store.upsert(Summary, [summary("idea 0")]) == BulkResult(unchanged=1)
    assert store.upsert(Summary, [summary("idea 0", tags=["new"])]) == BulkResult(written=1)
    assert store.upsert(Summary, store.get(Summary, ids)) == BulkResult(unchanged=3)
    [document] = store.get(Summary, [ids[0]], vectors=True)
    assert (document.tags, document.embedding_model) == (["new"], MODEL)
    assert document.summary_embedding == pytest.approx(at_angle(0))


def test_a_document_can_bring_its_vector(store: MemoryStore, ids: list[str]) -> None:
    document = summary("idea 9", summary_embedding=at_angle(45), embedding_model=MODEL)
    assert store.upsert(Summary, [document]) == BulkResult(written=1)
    assert store.upsert(Summary, [document]) == BulkResult(unchanged=1)
    assert store.vector_search(Summary, at_angle(45), k=1)[0].document.doc_id == document.doc_id
    moved = document.model_copy(update={"summary_embedding": at_angle(60)})
    assert store.upsert(Summary, [moved]) == BulkResult(written=1)


def test_a_document_with_a_vector_of_another_or_no_model_is_refused(store: MemoryStore, ids: list[str]) -> None:
    foreign = summary("idea 8", summary_embedding=at_angle(0), embedding_model="other-model")
    nameless = summary("idea 9", summary_embedding=at_angle(0))
    result = store.upsert(Summary, [foreign, nameless])
    assert {(refused.doc_id, refused.field) for refused in result.refused} == {
        (foreign.doc_id, "embedding_model"),
        (nameless.doc_id, "embedding_model"),
    }
    assert store.count(Summary) == 3


def test_a_document_cannot_claim_a_vector_it_does_not_have(store: MemoryStore, ids: list[str]) -> None:
    store.upsert(Summary, [summary("idea 9", embedding_model=MODEL)])
    assert store.count(Summary, {"embedding_model": None}) == 1
    assert store.get(Summary, [summary("idea 9").doc_id])[0].embedding_model is None


def test_what_still_needs_a_vector_can_be_asked_for(store: MemoryStore, ids: list[str]) -> None:
    store.upsert(Summary, [summary("idea 9")])
    new = [summary("idea 9").doc_id]
    assert [document.doc_id for document in store.scan(Summary, {"embedding_model": None})] == new
    assert [document.doc_id for document in store.scan(Summary, {"embedding_model": Exclude((MODEL,))})] == new
    assert store.count(Summary, {"embedding_model": Exclude(("other-model",))}) == 4
    assert store.count(Summary, {"embedding_model": MODEL}) == 3


def test_dropped_vectors_make_room_for_another_model(store: MemoryStore, ids: list[str]) -> None:
    assert store.drop_vectors(Summary) == 3
    assert store.drop_vectors(Summary) == 0
    assert store.embedding_model(Summary) is None
    assert store.count(Summary, {"embedding_model": None}) == 3
    assert store.vector_search(Summary, at_angle(0), k=3) == []
    assert [document.embedding_model for document in store.get(Summary, ids)] == [None] * 3
    assert store.put_vectors(Summary, {ids[0]: at_angle(0, 8)}, model="other-model") == BulkResult(written=1)
    assert store.embedding_model(Summary) == ("other-model", 8)
    assert len(store.vector_search(Summary, at_angle(0, 8), k=3)) == 1


def test_thousands_of_vectors_go_in_batches(store: MemoryStore) -> None:
    documents = [fact(f"note {n}") for n in range(1300)]
    store.upsert(Fact, documents)
    vectors = {d.doc_id: at_angle(n / 4) for n, d in enumerate(documents)}
    assert store.put_vectors(Fact, vectors, model=MODEL).written == 1300
    assert store.count(Fact, {"embedding_model": MODEL}) == 1300
    assert store.put_vectors(Fact, vectors, model=MODEL) == BulkResult(unchanged=1300)


def test_a_tier_without_vectors_takes_none(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    with pytest.raises(ValueError, match="no vectors"):
        store.put_vectors(RawMessage, {raw(0).doc_id: at_angle(0)}, model=MODEL)
    assert store.drop_vectors(RawMessage) == 0
