from __future__ import annotations

from math import log, sqrt

import pytest

from memory_pipeline.documents import Summary
from memory_pipeline.retrieval.fusion import coverage, fuse, idf, standing_out
from memory_pipeline.stores.contract import Candidate, Candidates
from memory_pipeline_tests.retrieval.samples import summary

BACKGROUND = tuple(n / 100 for n in range(20))


def candidate(text: str, *terms: str, cosine: float | None = None) -> Candidate[Summary]:
    return Candidate(summary(text), float(len(terms)), frozenset(terms), cosine)


def test_a_rare_term_weighs_more_than_a_common_one_and_an_unknown_term_most() -> None:
    weights = idf(["rare", "common", "unknown"], {"rare": 1, "common": 90}, 100)
    assert weights["unknown"] > weights["rare"] > weights["common"] > 0


def test_coverage_is_the_share_of_the_querys_weight() -> None:
    weights = {"a": 3.0, "b": 1.0}
    assert coverage(frozenset("ab"), weights) == 1.0
    assert coverage(frozenset("a"), weights) == 0.75
    assert coverage(frozenset(), weights) == 0.0
    assert coverage(frozenset(), {}) == 0.0


def test_a_vector_stands_out_in_deviations_of_the_background() -> None:
    mean, deviation = sum(BACKGROUND) / 20, sqrt(sum((c - 0.095) ** 2 for c in BACKGROUND) / 20)
    assert standing_out(mean, BACKGROUND, 100) == pytest.approx(0.0)
    assert standing_out(mean + deviation * sqrt(2 * log(100)), BACKGROUND, 100) == pytest.approx(1.0)


def test_without_a_vector_nothing_stands_out() -> None:
    assert standing_out(None, BACKGROUND, 100) == 0.0


@pytest.mark.parametrize(("background", "documents"), [((), 10), ((0.4,), 1), ((0.4,) * 50, 50)])
def test_without_a_usable_background_the_cosine_still_orders(background: tuple[float, ...], documents: int) -> None:
    assert standing_out(0.8, background, documents) > standing_out(0.3, background, documents) > 0


def test_a_full_match_of_words_beats_a_vector_that_stands_out_a_little() -> None:
    words, meaning = candidate("words", "pump", "valve", cosine=0.1), candidate("meaning", cosine=0.2)
    hits = fuse(Candidates((meaning, words), 100, {"pump": 2, "valve": 2}, BACKGROUND), ["pump", "valve"])
    assert [hit.document.summary for hit in hits] == ["words", "meaning"]


def test_where_words_hardly_match_the_vector_decides() -> None:
    words, meaning = candidate("words", "the", cosine=0.1), candidate("meaning", cosine=0.6)
    frequency = {"the": 80, "pump": 0, "valve": 0}
    hits = fuse(Candidates((words, meaning), 100, frequency, BACKGROUND), ["the", "pump", "valve"])
    assert [hit.document.summary for hit in hits] == ["meaning", "words"]


def test_scores_are_the_documented_sum() -> None:
    found = Candidates((candidate("x", "pump", cosine=0.3),), 50, {"pump": 1, "valve": 1}, BACKGROUND)
    (hit,) = fuse(found, ["pump", "valve"])
    assert hit.score == pytest.approx(0.3 * standing_out(0.3, BACKGROUND, 50) + 0.7 * 0.5**1.5)


def test_equal_scores_are_ordered_by_id() -> None:
    same = [candidate(str(n), "pump") for n in range(5)]
    forward = fuse(Candidates(tuple(same), 9, {"pump": 5}), ["pump"])
    backward = fuse(Candidates(tuple(same[::-1]), 9, {"pump": 5}), ["pump"])
    assert forward == backward
    assert [hit.document.doc_id for hit in forward] == sorted(hit.document.doc_id for hit in forward)
