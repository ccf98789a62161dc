"""Each arm of a search alone."""

from __future__ import annotations

import math

import pytest

from memory_pipeline.documents import Entity, Fact, Meta, RawMessage, Summary
from memory_pipeline.stores import MAX_K, MemoryStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, entity, fact, meta, raw, summary


def test_the_better_match_comes_first_with_a_positive_score(store: MemoryStore) -> None:
    store.upsert(
        RawMessage,
        [
            raw(0, content="the greenhouse heater is broken"),
            raw(1, content="the greenhouse is green"),
            raw(2, content="nothing of that"),
        ],
    )
    hits = store.keyword_search(RawMessage, ["greenhouse", "heater"], k=10)
    assert [hit.document.message_index for hit in hits] == [0, 1]
    assert hits[0].score > hits[1].score > 0


def test_a_word_that_every_document_holds_still_scores_above_zero(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(n, content="garden") for n in range(5)])
    hits = store.keyword_search(RawMessage, ["garden"], k=10)
    assert len(hits) == 5
    assert all(hit.score > 0 for hit in hits)


def test_words_are_found_by_stem_case_and_accents_aside(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0, content="Watering the flowers of the café")])
    for term in ("watered", "FLOWER", "cafe", "CAFÉS"):
        assert len(store.keyword_search(RawMessage, [term], k=3)) == 1, term


def test_every_text_field_is_searched(store: MemoryStore) -> None:
    store.upsert(Entity, [entity("Trellis", aliases=["espalier", "lattice"], description="holds the vine")])
    for term in ("trellis", "lattice", "vine", "kim"):
        assert len(store.keyword_search(Entity, [term], k=3)) == 1, term
    store.upsert(Summary, [summary("idea", tags=["compost", "worms"], model="unsearched")])
    assert len(store.keyword_search(Summary, ["worms"], k=3)) == 1
    assert store.keyword_search(Summary, ["unsearched"], k=3) == []


def test_a_tier_without_text_answers_nothing(store: MemoryStore) -> None:
    store.upsert(Meta, [meta("note", text="words")])
    assert store.keyword_search(Meta, ["words"], k=3) == []
    assert store.candidates(Meta, ["words"], None, k=3).document_frequency == {"words": 0}


AWKWARD = [
    '"', "'", '""" OR "', "a\"b", "NEAR(a b)", "col:term", "(", ")", "*", "^x", "-x", "+", "AND", "OR", "NOT", "{a}",
    "\0", "a\0b", "🌱", "👩‍🌾", "\ud800", "%", "\\", "", " ", "\n", "x" * 100_000, "--", ";", "'; DROP TABLE x; --",
]  # fmt: skip


@pytest.mark.parametrize("term", AWKWARD, ids=[repr(term[:20]) for term in AWKWARD])
def test_no_term_can_break_a_query_or_hide_the_others(store: MemoryStore, term: str) -> None:
    store.upsert(RawMessage, [raw(0, content="sunflower seeds"), raw(1, content="gravel")])
    store.keyword_search(RawMessage, [term], k=5)
    for terms in ([term, "sunflower"], ["sunflower", term]):
        hits = store.keyword_search(RawMessage, terms, k=5, where={"message_index": 0})
        assert [hit.document.message_index for hit in hits] == [0]
        found = store.candidates(RawMessage, terms, None, k=5)
        assert found.document_frequency["sunflower"] == 1
        assert found.document_frequency.keys() == set(terms)


def test_hundreds_of_terms_can_be_asked_for(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0, content="sunflower seeds")])
    assert len(store.keyword_search(RawMessage, [*(f"w{n}" for n in range(800)), "sunflower"], k=5)) == 1


def test_a_term_with_punctuation_finds_its_parts_in_that_order(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0, content="see error-code E_4711/b here"), raw(1, content="code of an error")])
    assert [h.document.message_index for h in store.keyword_search(RawMessage, ["error-code"], k=5)] == [0]
    assert [h.document.message_index for h in store.keyword_search(RawMessage, ["E_4711/b"], k=5)] == [0]


def test_no_terms_find_nothing(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    assert store.keyword_search(RawMessage, [], k=5) == []


def test_k_is_honoured_by_both_arms(store: MemoryStore) -> None:
    documents = [fact(f"garden bed {n}", doc_id=f"bed-{n:02}, a b") for n in range(40)]
    store.upsert(Fact, documents)
    store.put_vectors(Fact, {d.doc_id: at_angle(n) for n, d in enumerate(documents)}, model=MODEL)
    for k in (1, 10, 25, 40, 41, 1000, MAX_K):
        assert len(store.keyword_search(Fact, ["garden"], k=k)) == min(k, 40)
        assert len(store.vector_search(Fact, at_angle(0), k=k)) == min(k, 40)


@pytest.mark.parametrize("k", [0, -1, MAX_K + 1])
def test_k_out_of_range_is_an_error(store: MemoryStore, k: int) -> None:
    with pytest.raises(ValueError, match="k must be"):
        store.keyword_search(Fact, ["x"], k=k)
    with pytest.raises(ValueError, match="k must be"):
        store.vector_search(Fact, at_angle(0), k=k)
    with pytest.raises(ValueError, match="k must be"):
        store.candidates(Fact, ["x"], at_angle(0), k=k)


def test_ties_are_ordered_and_cut_by_id(store: MemoryStore) -> None:
    ids = [f"{(n * 37) % 60:02}" for n in range(60)]
    store.upsert(Fact, [fact("same words", doc_id=doc_id) for doc_id in ids])
    store.put_vectors(Fact, {doc_id: at_angle(30) for doc_id in ids}, model=MODEL)
    wanted = sorted(ids)[:25]
    assert [hit.document.doc_id for hit in store.keyword_search(Fact, ["words"], k=25)] == wanted
    assert [hit.document.doc_id for hit in store.vector_search(Fact, at_angle(0), k=25)] == wanted
    assert [hit.document.doc_id for hit in store.candidates(Fact, ["words"], at_angle(0), k=25).hits] == wanted


def test_the_nearest_come_first_and_scores_are_cosines(store: MemoryStore) -> None:
    angles = {"far": 120.0, "near": 10.0, "opposite": 180.0, "same": 0.0, "square": 90.0}
    store.upsert(Fact, [fact(name, doc_id=name) for name in angles])
    store.put_vectors(Fact, {name: at_angle(angle) for name, angle in angles.items()}, model=MODEL)
    hits = store.vector_search(Fact, at_angle(0), k=10)
    assert [hit.document.doc_id for hit in hits] == ["same", "near", "square", "far", "opposite"]
    for hit in hits:
        assert hit.score == pytest.approx(math.cos(math.radians(angles[hit.document.doc_id])), abs=1e-6)
        assert -1 <= hit.score <= 1


def test_hits_tell_the_model_but_carry_no_vector(store: MemoryStore) -> None:
    store.upsert(Fact, [fact("words")])
    store.put_vectors(Fact, {fact("words").doc_id: at_angle(0)}, model=MODEL)
    for [hit] in (store.keyword_search(Fact, ["words"], k=1), store.vector_search(Fact, at_angle(0), k=1)):
        assert (hit.document.embedding_model, hit.document.embedding) == (MODEL, None)


def test_documents_without_a_vector_are_not_found_by_one(store: MemoryStore) -> None:
    store.upsert(Fact, [fact("with"), fact("without")])
    assert store.vector_search(Fact, at_angle(0), k=5) == []
    store.put_vectors(Fact, {fact("with").doc_id: at_angle(0)}, model=MODEL)
    assert [hit.document.statement for hit in store.vector_search(Fact, at_angle(0), k=5)] == ["with"]


def test_a_tier_without_vectors_answers_nothing(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    assert store.vector_search(RawMessage, at_angle(0), k=5) == []


def test_searching_an_empty_store_finds_nothing(store: MemoryStore) -> None:
    assert store.keyword_search(Summary, ["word"], k=5) == []
    assert store.vector_search(Summary, at_angle(0), k=5) == []
    assert store.candidates(Summary, ["word"], at_angle(0), k=5).hits == ()
