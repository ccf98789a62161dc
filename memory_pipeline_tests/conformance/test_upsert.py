"""Storing documents: by id, equal ones untouched, bad ones refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from memory_pipeline.documents import Fact, Meta, RawMessage, SourceRef, Summary, Turn
from memory_pipeline.stores import BulkResult, MemoryStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, meta, raw, summary, turn


def test_a_document_comes_back_as_it_was_stored(store: MemoryStore) -> None:
    first, second = raw(0, tool_name=["bash", "read"]), raw(1, model=None)
    assert store.upsert(RawMessage, [first, second]) == BulkResult(written=2)
    assert store.get(RawMessage, [second.doc_id, first.doc_id]) == [second, first]


def test_mappings_are_taken_like_instances(store: MemoryStore) -> None:
    document = summary()
    assert store.upsert(Summary, [document.model_dump()]) == BulkResult(written=1)
    assert store.upsert(Summary, [document]) == BulkResult(unchanged=1)


def test_the_same_again_changes_nothing(store: MemoryStore) -> None:
    documents = [raw(n) for n in range(30)]
    assert store.upsert(RawMessage, documents) == BulkResult(written=30)
    assert store.upsert(RawMessage, reversed(documents)) == BulkResult(unchanged=30)
    assert store.count(RawMessage) == 30


def test_a_changed_document_replaces_the_old_one_everywhere(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0, content="plant tulips", role="user"), raw(1, content="water roses")])
    changed = raw(0, content="plant dahlias", role="assistant")
    assert store.upsert(RawMessage, [changed, raw(1, content="water roses")]) == BulkResult(written=1, unchanged=1)
    assert store.get(RawMessage, [changed.doc_id]) == [changed]
    assert store.keyword_search(RawMessage, ["tulips"], k=5) == []
    assert [hit.document for hit in store.keyword_search(RawMessage, ["dahlias"], k=5)] == [changed]
    assert store.count(RawMessage, {"role": "user"}) == 1


def test_changed_source_refs_are_filtered_by_the_new_ones(store: MemoryStore) -> None:
    document = summary()
    store.upsert(Summary, [document])
    moved = document.model_copy(
        update={"source_refs": [SourceRef(session_id="session-2", turn_id="session-2_4"), *document.source_refs]}
    )
    store.upsert(Summary, [moved])
    assert store.count(Summary, {"source_refs.turn_id": "session-2_4"}) == 1
    assert store.count(Summary, {"source_refs.turn_id": "session-1_0"}) == 1
    store.upsert(Summary, [moved.model_copy(update={"source_refs": moved.source_refs[:1]})])
    assert store.count(Summary, {"source_refs.turn_id": "session-1_0"}) == 0


def test_one_bad_document_among_a_hundred_costs_only_itself(store: MemoryStore) -> None:
    documents: list[Fact | dict[str, object]] = [fact(f"statement {n}") for n in range(100)]
    bad = fact("statement 41").model_dump() | {"confidence": "high"}
    documents[41] = bad
    result = store.upsert(Fact, documents)
    assert (result.written, result.unchanged) == (99, 0)
    [refused] = result.refused
    assert (refused.doc_id, refused.field) == (bad["doc_id"], "confidence")
    assert "number" in refused.reason
    assert store.count(Fact) == 99


def test_one_vector_of_the_wrong_length_among_a_hundred_costs_only_its_document(store: MemoryStore) -> None:
    documents = [
        summary(f"idea {n}", summary_embedding=at_angle(n, 3 if n == 57 else 4), embedding_model=MODEL)
        for n in range(100)
    ]
    result = store.upsert(Summary, documents)
    assert result.written == 99
    [refused] = result.refused
    assert (refused.doc_id, refused.field) == (documents[57].doc_id, "summary_embedding")
    assert "3" in refused.reason
    assert "4" in refused.reason
    assert store.get(Summary, [documents[57].doc_id]) == []
    assert len(store.vector_search(Summary, at_angle(0), k=100)) == 99


def test_an_instance_made_without_validation_is_validated(store: MemoryStore) -> None:
    good = turn(0)
    values = {name: getattr(good, name) for name in Turn.model_fields}
    wrong_type = Turn.model_construct(**(values | {"turn_index": "0"}))
    not_checked: Any = SourceRef.model_construct
    wrong_part = Turn.model_construct(**(values | {"source_refs": [not_checked(session_id=3)]}))
    in_a_mapping = values | {"source_refs": [not_checked(session_id="s", turn_id=None)]}
    result = store.upsert(Turn, [wrong_type, wrong_part, in_a_mapping])
    assert [refused.field for refused in result.refused] == [
        "turn_index",
        "source_refs.0.session_id",
        "source_refs.0.turn_id",
    ]
    assert {refused.doc_id for refused in result.refused} == {good.doc_id}
    assert store.count(Turn) == 0


def test_unknown_and_missing_fields_are_refused(store: MemoryStore) -> None:
    good = raw(0).model_dump()
    missing = {name: value for name, value in good.items() if name != "role"}
    result = store.upsert(RawMessage, [good | {"mood": "fine"}, missing, {}, turn(0), "text"])  # type: ignore[list-item]
    assert [refused.field for refused in result.refused[:2]] == ["mood", "role"]
    assert len(result.refused) == 5
    assert result.refused[2].doc_id == ""
    assert store.count(RawMessage) == 0


def test_an_empty_id_is_refused(store: MemoryStore) -> None:
    [refused] = store.upsert(RawMessage, [raw(0, doc_id="")]).refused
    assert refused.field == "doc_id"


@pytest.mark.parametrize("broken", ["\ud800", "lone \udfff half"])
def test_half_surrogates_are_refused_by_name(store: MemoryStore, broken: str) -> None:
    result = store.upsert(RawMessage, [raw(0, content=broken), raw(1, doc_id=broken), raw(2)])
    assert result.written == 1
    assert [refused.field for refused in result.refused] == ["content", "doc_id"]
    for refused in result.refused:
        f"{refused.doc_id} {refused.field} {refused.reason}".encode()  # can be printed


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_json_cannot_say_is_refused(store: MemoryStore, value: object) -> None:
    [refused] = store.upsert(Meta, [meta("note", inside=[value])]).refused
    assert (refused.doc_id, refused.field) == ("note", "value")


def test_reasons_do_not_repeat_what_was_refused(store: MemoryStore) -> None:
    [refused] = store.upsert(RawMessage, [raw(0).model_dump() | {"turn_index": "hush-hush"}]).refused
    assert "hush-hush" not in refused.reason


@pytest.mark.parametrize(
    "content",
    ["", "nul \0 inside", "Grüße 👩‍🌾 花園", "quote ' \" \\ %_ ; --", "line\r\nline\u2028line", "x" * 1_000_000],
)
def test_any_text_comes_back_unchanged(store: MemoryStore, content: str) -> None:
    document = raw(0, content=content)
    assert store.upsert(RawMessage, [document]).written == 1
    assert store.get(RawMessage, [document.doc_id]) == [document]
    assert store.upsert(RawMessage, [document]).unchanged == 1
    assert list(store.scan(RawMessage)) == [document]


def test_the_last_of_two_with_one_id_stays(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0, content="first"), raw(0, content="second")])
    assert [document.content for document in store.scan(RawMessage)] == ["second"]
    assert store.keyword_search(RawMessage, ["first"], k=5) == []


def test_documents_may_be_read_from_the_store_while_they_are_stored(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n) for n in range(1200)])
    changed = (d.model_copy(update={"role": "assistant"}) for d in store.scan(RawMessage))
    assert store.upsert(RawMessage, changed) == BulkResult(written=1200)


def test_nothing_is_nothing(store: MemoryStore) -> None:
    assert store.upsert(RawMessage, []) == BulkResult()
    assert store.get(RawMessage, []) == []
    assert store.get(RawMessage, ["unknown", "\ud800"]) == []
    assert list(store.scan(RawMessage)) == []
    assert store.count(RawMessage) == 0
    assert store.group_count(RawMessage, "role") == {}
