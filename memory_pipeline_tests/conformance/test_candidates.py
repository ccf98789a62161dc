"""The union of both arms, and the statistics that fusing needs."""

from __future__ import annotations

import math

import pytest

from memory_pipeline.documents import Fact, RawMessage
from memory_pipeline.stores import Candidate, MemoryStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, raw


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    """Thirty facts at rising angles; ``f-29``, the farthest, alone holds a rare identifier; ``f-30`` has no vector."""
    texts = {n: f"garden note {n}" for n in range(31)} | {29: "garden ticket ZX-9917", 30: "garden without vector"}
    store.upsert(
        Fact,
        [fact(text, doc_id=f"f-{n:02}", project="/p/even" if n % 2 == 0 else "/p/odd") for n, text in texts.items()],
    )
    store.put_vectors(Fact, {f"f-{n:02}": at_angle(n * 3) for n in range(30)}, model=MODEL)
    return store


def by_id(hits: tuple[Candidate[Fact], ...]) -> dict[str, Candidate[Fact]]:
    return {hit.document.doc_id: hit for hit in hits}


def test_keyword_only_and_vector_only_hits_are_both_there_with_both_scores(filled: MemoryStore) -> None:
    found = by_id(filled.candidates(Fact, ["ZX-9917"], at_angle(0), k=3).hits)
    assert found.keys() == {"f-00", "f-01", "f-02", "f-29"}
    rare = found["f-29"]
    assert rare.keyword_score > 0
    assert rare.cosine == pytest.approx(math.cos(math.radians(87)), abs=1e-6)
    assert rare.terms == {"ZX-9917"}
    near = found["f-01"]
    assert (near.keyword_score, near.terms) == (0.0, frozenset())
    assert near.cosine == pytest.approx(math.cos(math.radians(3)), abs=1e-6)


def test_a_vector_hit_outside_the_best_keywords_has_its_keyword_score(filled: MemoryStore) -> None:
    found = by_id(filled.candidates(Fact, ["ZX-9917", "note"], at_angle(0), k=1).hits)
    assert found.keys() == {"f-00", "f-29"}
    scores = {hit.document.doc_id: hit.score for hit in filled.keyword_search(Fact, ["ZX-9917", "note"], k=40)}
    assert {doc_id: hit.keyword_score for doc_id, hit in found.items()} == {
        doc_id: pytest.approx(scores[doc_id]) for doc_id in found
    }
    assert found["f-00"].terms == {"note"}


def test_both_arms_say_the_same_as_each_alone(filled: MemoryStore) -> None:
    found = by_id(filled.candidates(Fact, ["garden"], at_angle(40), k=40).hits)
    assert len(found) == 31
    keyword = {hit.document.doc_id: hit.score for hit in filled.keyword_search(Fact, ["garden"], k=40)}
    vector = {hit.document.doc_id: hit.score for hit in filled.vector_search(Fact, at_angle(40), k=40)}
    assert {doc_id: hit.keyword_score for doc_id, hit in found.items()} == pytest.approx(keyword)
    assert {doc_id: hit.cosine for doc_id, hit in found.items() if hit.cosine is not None} == pytest.approx(vector)
    assert found["f-30"].cosine is None


def test_each_arm_works_alone(filled: MemoryStore) -> None:
    only_words = filled.candidates(Fact, ["ticket"], None, k=5)
    assert [(hit.document.doc_id, hit.cosine) for hit in only_words.hits] == [("f-29", None)]
    assert only_words.background == ()
    only_vector = filled.candidates(Fact, [], at_angle(0), k=2)
    assert [(hit.document.doc_id, hit.keyword_score) for hit in only_vector.hits] == [("f-00", 0.0), ("f-01", 0.0)]
    assert only_vector.document_frequency == {}
    assert filled.candidates(Fact, [], None, k=2).hits == ()


def test_statistics_respect_the_filter(filled: MemoryStore) -> None:
    terms = ["garden", "ticket", "notes", "unheard"]
    everything = filled.candidates(Fact, terms, at_angle(0), k=2)
    assert everything.document_count == 31
    assert everything.document_frequency == {"garden": 31, "ticket": 1, "notes": 29, "unheard": 0}
    even = filled.candidates(Fact, terms, at_angle(0), k=2, where={"project": "/p/even"})
    assert even.document_count == 16
    assert even.document_frequency == {"garden": 16, "ticket": 0, "notes": 15, "unheard": 0}
    assert {hit.document.project for hit in even.hits} == {"/p/even"}
    assert len(even.background) == 15
    nothing = filled.candidates(Fact, terms, at_angle(0), k=2, where={"project": "/p/none"})
    assert (nothing.hits, nothing.document_count, nothing.background) == ((), 0, ())
    assert nothing.document_frequency == dict.fromkeys(terms, 0)


def test_terms_are_told_as_they_were_given_though_found_by_stem(filled: MemoryStore) -> None:
    [hit] = filled.candidates(Fact, ["Tickets", "gardening", "tickets"], None, k=1).hits
    assert hit.terms == {"Tickets", "gardening", "tickets"}


def test_the_background_is_about_a_hundred_vectors_chosen_without_regard_to_the_query(store: MemoryStore) -> None:
    documents = [fact(f"note {n}") for n in range(400)]
    store.upsert(Fact, documents)
    store.put_vectors(Fact, {d.doc_id: at_angle(n * 0.9) for n, d in enumerate(documents)}, model=MODEL)
    ahead = store.candidates(Fact, [], at_angle(0), k=1).background
    behind = store.candidates(Fact, [], at_angle(180), k=50).background
    assert 80 <= len(ahead) <= 120
    assert ahead == store.candidates(Fact, [], at_angle(0), k=10).background
    assert list(behind) == pytest.approx([-value for value in ahead], abs=1e-5)
    assert min(ahead) < -0.8
    assert max(ahead) > 0.8


def test_the_background_does_not_depend_on_the_order_of_arrival(store: MemoryStore) -> None:
    documents = [fact(f"note {n}") for n in range(300)]
    vectors = {d.doc_id: at_angle(n) for n, d in enumerate(documents)}
    store.upsert(Fact, documents)
    store.put_vectors(Fact, vectors, model=MODEL)
    before = store.candidates(Fact, [], at_angle(0), k=1).background
    store.delete(Fact, {"kind": "decision"})
    store.upsert(Fact, documents[::-1])
    store.put_vectors(Fact, vectors, model=MODEL)
    assert store.candidates(Fact, [], at_angle(0), k=1).background == before


def test_a_tier_without_vectors_is_searched_by_words_alone(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0, content="sunflower"), raw(1, content="gravel")])
    found = store.candidates(RawMessage, ["sunflower"], at_angle(0), k=5)
    assert [(hit.document.message_index, hit.cosine) for hit in found.hits] == [(0, None)]
    assert (found.document_count, found.background) == (2, ())
