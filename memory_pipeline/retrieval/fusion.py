"""Coverage fusion: one score from what the keyword arm and the vector arm say of a document.

    F(d) = w · z(d) + (1 − w) · C(d)^1.5                                    w = 0.3

C(d) is the share of the query's information (sum of idf) whose terms the document holds. It is absolute: where the
words match it decides, where they don't it leaves the field to the vector, without any tuning per query.
z(d) says how far the document's cosine stands out from those of stored vectors chosen at random; 1 is about what the
best of N unrelated documents reaches. The result hardly changes for w from .25 to .35.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, log, log1p, sqrt
from statistics import fmean, pstdev
from typing import TypeVar

from memory_pipeline.documents import Document
from memory_pipeline.stores.contract import Candidates, Hit

VECTOR_WEIGHT = 0.3
COVERAGE_POWER = 1.5
FEWEST_BACKGROUND = 5
"""Fewer cosines than this have no mean and deviation to speak of."""

D = TypeVar("D", bound=Document)


def fuse(found: Candidates[D], terms: Sequence[str]) -> list[Hit[D]]:
    """The candidates by their fused score, best first, ties by id. ``terms`` are those the store was asked for."""
    weights = idf(terms, found.document_frequency, found.document_count)
    hits = [
        Hit(
            candidate.document,
            VECTOR_WEIGHT * standing_out(candidate.cosine, found.background, found.document_count)
            + (1 - VECTOR_WEIGHT) * coverage(candidate.terms, weights) ** COVERAGE_POWER,
        )
        for candidate in found.hits
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.document.doc_id))


def idf(terms: Sequence[str], frequency: Mapping[str, int], documents: int) -> dict[str, float]:
    """Inverse document frequency of each term; a term no document holds has the full weight."""
    counts = {term: frequency.get(term, 0) for term in terms}
    return {term: log1p((documents - count + 0.5) / (count + 0.5)) for term, count in counts.items()}


def coverage(held: frozenset[str], weights: Mapping[str, float]) -> float:
    """Share of the terms' weight that the held ones make up, 0 to 1; 0 for a query without terms."""
    total = fsum(weights.values())
    return fsum(weight for term, weight in weights.items() if term in held) / total if total else 0.0


def standing_out(cosine: float | None, background: Sequence[float], documents: int) -> float:
    """z: the cosine in deviations from the background's mean, over what the best of so many unrelated ones reaches.

    0 without a vector. With too little background the cosine itself stands in: it keeps the order.
    """
    if cosine is None:
        return 0.0
    deviation = pstdev(background) if len(background) >= FEWEST_BACKGROUND else 0.0
    if deviation < 1e-6 or documents < 2:
        return cosine
    return (cosine - fmean(background)) / (deviation * sqrt(2 * log(documents)))
