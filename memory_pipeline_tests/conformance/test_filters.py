"""Filters: each kind of condition, alone and inside both kinds of search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memory_pipeline.documents import DistillationState, Entity, Fact, Meta, RawMessage, Summary, Turn
from memory_pipeline.errors import StoreError
from memory_pipeline.stores import Exclude, MemoryStore, Range, Where
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, entity, fact, meta, raw, refs, summary, turn

EARLY, MIDDLE, LATE = (f"2026-0{month}-01T00:00:00.000Z" for month in (1, 2, 3))

FACTS = {
    "a": {"kind": "decision", "confidence": 0.5, "valid_from": EARLY, "invalid_at": MIDDLE, "former_ids": ["x", "y"]},
    "b": {"kind": "habit", "confidence": 0.75, "valid_from": MIDDLE, "former_ids": ["y"]},
    "c": {"kind": "place", "confidence": 1.0, "valid_from": LATE, "source_refs": refs("session-2", 0, 7)},
}

CASES: list[tuple[Where, str]] = [
    ({}, "abc"),
    ({"kind": "habit"}, "b"),
    ({"kind": "nothing"}, ""),
    ({"kind": ["habit", "place"]}, "bc"),
    ({"kind": ("habit",)}, "b"),
    ({"kind": []}, ""),
    ({"kind": Exclude(("habit", "place"))}, "a"),
    ({"kind": Exclude(())}, "abc"),
    ({"invalid_at": None}, "bc"),
    ({"invalid_at": Exclude((MIDDLE,))}, "bc"),
    ({"invalid_at": MIDDLE}, "a"),
    ({"valid_from": Range(gte=MIDDLE)}, "bc"),
    ({"valid_from": Range(lt=MIDDLE)}, "a"),
    ({"valid_from": Range(gte=EARLY, lt=LATE)}, "ab"),
    ({"invalid_at": Range()}, "a"),
    ({"confidence": 0.75}, "b"),
    ({"confidence": 1}, "c"),
    ({"confidence": Range(gte=0.75)}, "bc"),
    ({"former_ids": "y"}, "ab"),
    ({"former_ids": ["x", "z"]}, "a"),
    ({"former_ids": None}, "c"),
    ({"former_ids": Exclude(("x",))}, "bc"),
    ({"source_refs.session_id": "session-2"}, "c"),
    ({"source_refs.session_id": ["session-1", "session-2"]}, "abc"),
    ({"source_refs.session_id": Exclude(("session-2",))}, "ab"),
    ({"source_refs.session_id": None}, ""),
    ({"source_refs.turn_id": "session-2_7"}, "c"),
    ({"source_refs.turn_id": Range(gte="session-2")}, "c"),
    ({"source_refs.doc_id": "session-2_7_0"}, "c"),
    ({"kind": ["decision", "habit"], "invalid_at": None, "source_refs.session_id": "session-1"}, "b"),
    ({"embedding_model": MODEL}, "abc"),
    ({"embedding_model": None}, ""),
    ({"embedding_model": Exclude((MODEL,))}, ""),
]


@pytest.fixture
def facts(store: MemoryStore) -> dict[str, str]:
    """Id → name of the three facts, all found by the same word and with vectors."""
    documents = {name: fact(f"gardening fact {name}", **fields) for name, fields in FACTS.items()}
    store.upsert(Fact, documents.values())
    store.put_vectors(Fact, {d.doc_id: at_angle(n) for n, d in enumerate(documents.values())}, model=MODEL)
    return {document.doc_id: name for name, document in documents.items()}


@pytest.mark.parametrize(("where", "expected"), CASES, ids=[str(where) for where, _ in CASES])
def test_a_filter_means_the_same_in_every_method(
    store: MemoryStore, facts: Mapping[str, str], where: Where, expected: str
) -> None:
    found = {
        "scan": [document.doc_id for document in store.scan(Fact, where)],
        "keyword": [hit.document.doc_id for hit in store.keyword_search(Fact, ["gardening"], k=9, where=where)],
        "vector": [hit.document.doc_id for hit in store.vector_search(Fact, at_angle(0), k=9, where=where)],
        "candidates": [
            hit.document.doc_id for hit in store.candidates(Fact, ["gardening"], at_angle(0), k=9, where=where).hits
        ],
    }
    names = {method: "".join(sorted(facts[doc_id] for doc_id in ids)) for method, ids in found.items()}
    assert names == dict.fromkeys(found, expected)
    assert store.count(Fact, where) == len(expected)
    assert sum(store.group_count(Fact, "kind", where).values()) == len(expected)


def test_the_filter_works_inside_the_search_not_on_its_results(store: MemoryStore) -> None:
    near = [summary(f"near {n}", project="/home/kim/near") for n in range(60)]
    far = [summary(f"far {n}", project="/home/kim/far") for n in range(5)]
    store.upsert(Summary, near + far)
    store.put_vectors(Summary, {d.doc_id: at_angle(1) for d in near} | {d.doc_id: at_angle(80) for d in far}, model="m")
    where = {"project": "/home/kim/far"}
    assert len(store.vector_search(Summary, at_angle(0), k=5, where=where)) == 5
    assert len(store.keyword_search(Summary, ["near", "kim"], k=5, where=where)) == 5
    assert len(store.candidates(Summary, ["near"], at_angle(0), k=5, where=where).hits) == 5


def test_fields_of_objects_and_flags_can_be_filtered(store: MemoryStore) -> None:
    pending, done = turn(0), turn(1, distillation=DistillationState(state="stored", attempts=2), on_active_path=False)
    store.upsert(Turn, [pending, done])
    assert list(store.scan(Turn, {"distillation.state": "stored"})) == [done]
    assert list(store.scan(Turn, {"distillation.state": Exclude(("none", "stored"))})) == [pending]
    assert list(store.scan(Turn, {"distillation.attempts": Range(gte=1)})) == [done]
    assert list(store.scan(Turn, {"on_active_path": True})) == [pending]
    assert list(store.scan(Turn, {"on_active_path": False})) == [done]
    assert list(store.scan(Turn, {"turn_index": 1})) == [done]


def test_a_field_that_holds_one_name_or_several_matches_by_each(store: MemoryStore) -> None:
    one, several, none = raw(0, tool_name="bash"), raw(1, tool_name=["bash", "read"]), raw(2)
    store.upsert(RawMessage, [one, several, none])
    assert list(store.scan(RawMessage, {"tool_name": "bash"})) == [one, several]
    assert list(store.scan(RawMessage, {"tool_name": "read"})) == [several]
    assert list(store.scan(RawMessage, {"tool_name": None})) == [none]
    assert list(store.scan(RawMessage, {"tool_name": Exclude(("read",))})) == [one, none]


def test_fields_that_are_also_searched_match_whole_values_only(store: MemoryStore) -> None:
    roses, gate = entity("Rose Garden", aliases=["rosarium"]), entity("Garden Gate")
    store.upsert(Entity, [roses, gate])
    assert list(store.scan(Entity, {"name": "Garden"})) == []
    assert list(store.scan(Entity, {"name": "Rose Garden"})) == [roses]
    assert list(store.scan(Entity, {"aliases": "rosarium"})) == [roses]


def test_notes_can_be_filtered_by_what_is_inside(store: MemoryStore) -> None:
    store.upsert(Meta, [meta("a", kind="merge", ids=["x", "y"]), meta("b", kind="hide", ids=["z"])])
    assert [note.doc_id for note in store.scan(Meta, {"value.kind": "hide"})] == ["b"]
    assert [note.doc_id for note in store.scan(Meta, {"value.ids": "y"})] == ["a"]
    assert [note.doc_id for note in store.scan(Meta, {"value.nothing": None})] == ["a", "b"]


AWKWARD = [
    "0b8f4f5e-6f0a-4f43-9a53-2a8d1c0e7c11",
    "with space",
    "a,b",
    "a{b}|c",
    'it\'s "quoted"',
    "100%_*?",
    "back\\slash",
    "[list]",
    "null",
    "Ünïcödé 花",
    "nul\0byte",
    "@tag:{x}",
    "--",
    "' OR 1=1 --",
]


@pytest.mark.parametrize("value", AWKWARD)
def test_any_punctuation_can_be_filtered_on(store: MemoryStore, value: str) -> None:
    wanted, other = raw(0, session_id=value), raw(0, session_id=value + "x")
    derived = summary("one idea", source_refs=refs(value, 0), tags=[value])
    store.upsert(RawMessage, [wanted, other])
    store.upsert(Summary, [derived, summary("other idea")])
    store.put_vectors(Summary, {derived.doc_id: at_angle(0)}, model=MODEL)
    assert store.get(RawMessage, [wanted.doc_id]) == [wanted]
    for condition in (value, [value], [value, "nothing"], Range(gte=value, lt=value + "\x01")):
        assert list(store.scan(RawMessage, {"session_id": condition})) == [wanted]
    assert list(store.scan(RawMessage, {"session_id": Exclude((value,))})) == [other]
    for where in ({"source_refs.session_id": value}, {"tags": [value]}, {"doc_id": derived.doc_id}):
        assert [hit.document.doc_id for hit in store.keyword_search(Summary, ["idea"], k=5, where=where)] == [
            derived.doc_id
        ]
        assert len(store.vector_search(Summary, at_angle(0), k=5, where=where)) == 1
    assert store.delete(RawMessage, {"session_id": value}) == 1
    assert list(store.scan(RawMessage)) == [other]


def test_thousands_of_values_can_be_asked_for_at_once(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n) for n in range(10)])
    wanted = [raw(0).doc_id, raw(7).doc_id, *(f"unknown-{n}" for n in range(50_000))]
    assert store.count(RawMessage, {"doc_id": wanted}) == 2
    assert store.count(RawMessage, {"doc_id": Exclude(tuple(wanted))}) == 8
    assert len(store.get(RawMessage, wanted)) == 2


@pytest.mark.parametrize(
    "name",
    ["sesion_id", "source_refs.sesion_id", "source_refs", "content", "session_id.x", "index", "", "doc_id.", "."],
)
def test_a_field_that_cannot_be_filtered_on_is_an_error_not_an_empty_answer(store: MemoryStore, name: str) -> None:
    store.upsert(RawMessage, [raw(0)])
    where: dict[str, Any] = {name: "x"}
    for ask in (
        lambda: list(store.scan(RawMessage, where)),
        lambda: store.count(RawMessage, where),
        lambda: store.delete(RawMessage, where),
        lambda: store.group_count(RawMessage, name),
        lambda: store.keyword_search(RawMessage, ["message"], k=1, where=where),
        lambda: store.candidates(RawMessage, ["message"], None, k=1, where=where),
    ):
        with pytest.raises(StoreError, match="field"):
            ask()
    with pytest.raises(StoreError, match="field"):
        store.vector_search(Summary, at_angle(0), k=1, where={"summary": "x"})
