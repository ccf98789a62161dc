"""The union of both arms' best documents, with both scores of each and the statistics that fusing needs."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memory_pipeline.stores.contract import Candidate, Candidates, D
from memory_pipeline.stores.sqlite.embeddings import cosines
from memory_pipeline.stores.sqlite.rows import read_documents
from memory_pipeline.stores.sqlite.schema import Tier
from memory_pipeline.stores.sqlite.search import (
    Scope,
    background,
    best_by_keyword,
    holders,
    keyword_scores,
    nearest,
)


def gather(
    connection: apsw.Connection,
    tier: Tier,
    kind: type[D],
    terms: Sequence[str],
    query: bytes | None,
    *,
    k: int,
    scope: Scope,
    model: str | None,
) -> Candidates[D]:
    """Both arms and their statistics; ``query`` None leaves the vector arm out. Inside a transaction of the caller."""
    found = {row_id for row_id, _ in best_by_keyword(connection, tier, terms, k, scope)}
    sample: list[int] = []
    near: dict[int, float] = {}
    if query is not None:
        found |= {row_id for row_id, _ in nearest(connection, tier, query, k, scope)}
        sample = background(connection, tier, scope)
        near = cosines(connection, tier, query, sorted(found.union(sample)))
    row_ids = sorted(found)
    scores = keyword_scores(connection, tier, terms, row_ids)
    frequency: dict[str, int] = {}
    terms_of: dict[int, set[str]] = {row_id: set() for row_id in row_ids}
    for term in dict.fromkeys(terms):
        frequency[term], holding = holders(connection, tier, term, row_ids, scope)
        for row_id in holding:
            terms_of[row_id].add(term)
    hits = [
        Candidate(document, scores.get(row_id, 0.0), frozenset(terms_of[row_id]), near.get(row_id))
        for row_id, document in read_documents(connection, tier, kind, row_ids, model=model).items()
    ]
    return Candidates(
        tuple(sorted(hits, key=lambda hit: hit.document.doc_id)),
        scope.count,
        frequency,
        tuple(near[row_id] for row_id in sample),
    )
