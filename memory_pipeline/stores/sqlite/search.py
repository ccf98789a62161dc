"""Both arms of a search, and what is known of their candidates, by row id. Inside a transaction of the caller.

A filter is worked out once per search, into the connection's table ``scope``; every statement is limited to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from memory_pipeline.stores.contract import MAX_K
from memory_pipeline.stores.sqlite.connection import rows, single
from memory_pipeline.stores.sqlite.embeddings import cosine
from memory_pipeline.stores.sqlite.schema import Tier, as_set
from memory_pipeline.stores.sqlite.where import Clause

BACKGROUND = 100


class Scope:
    """The documents a search may find: all of the tier, or those that a filter lets through."""

    def __init__(self, connection: apsw.Connection, tier: Tier, clause: Clause) -> None:
        self.limited = clause != Clause()
        if self.limited:
            connection.execute("DELETE FROM temp.scope")
            connection.execute(
                f"INSERT INTO temp.scope SELECT d.id FROM {tier.documents} AS d WHERE {clause.sql}", clause.params
            )
        self.count = int(single(connection, f"SELECT count(*) FROM {'temp.scope' if self.limited else tier.documents}"))

    def condition(self, column: str) -> str:
        """What to add to a WHERE. A column of a full-text table is written with a plus before it: without that SQLite
        runs the text search once for every row of the scope.
        """
        return f"AND {column} IN (SELECT id FROM temp.scope)" if self.limited else ""


def match(terms: Iterable[str]) -> str:
    """An FTS5 query for documents with any of the terms, whatever characters those hold; '' for no terms."""
    return " OR ".join(dict.fromkeys(_phrase(term) for term in terms))


def _phrase(term: str) -> str:
    text = term.replace("\0", " ").encode("utf-8", "replace").decode()
    return '"' + text.replace('"', '""') + '"'


def best_by_keyword(
    connection: apsw.Connection, tier: Tier, terms: Sequence[str], k: int, scope: Scope
) -> list[tuple[int, float]]:
    """Row ids and BM25 of the ``k`` best, ties by document id."""
    if not terms or not tier.text_fields:
        return []
    found = rows(
        connection,
        f"SELECT d.id, -bm25({tier.text}) AS score "
        f"FROM {tier.text} JOIN {tier.documents} AS d ON d.id = {tier.text}.rowid "
        f"WHERE {tier.text} MATCH ? {scope.condition(f'+{tier.text}.rowid')} ORDER BY score DESC, d.doc_id LIMIT ?",
        (match(terms), k),
    )
    return [(row_id, score) for row_id, score in found]


def keyword_scores(
    connection: apsw.Connection, tier: Tier, terms: Sequence[str], row_ids: Sequence[int]
) -> dict[int, float]:
    """Row id → BM25, for those of the rows that hold a term."""
    if not terms or not tier.text_fields:
        return {}
    found = rows(
        connection,
        f"SELECT rowid, -bm25({tier.text}) FROM {tier.text} "
        f"WHERE {tier.text} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
        (match(terms), as_set(row_ids)),
    )
    return dict(found)


def holders(
    connection: apsw.Connection, tier: Tier, term: str, row_ids: Sequence[int], scope: Scope
) -> tuple[int, list[int]]:
    """How many documents in scope hold the term, and which of the given rows do."""
    if not tier.text_fields:
        return 0, []
    query = match([term])
    count = single(
        connection,
        f"SELECT count(*) FROM {tier.text} WHERE {tier.text} MATCH ? {scope.condition('+rowid')}",
        (query,),
    )
    found = rows(
        connection,
        f"SELECT rowid FROM {tier.text} WHERE {tier.text} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
        (query, as_set(row_ids)),
    )
    return int(count), [row_id for (row_id,) in found]


def nearest_sql(tier: Tier, scope: Scope) -> str:
    """The nearest neighbours by vec0's own search (never by sorting all distances), then put in order."""
    return (
        f"WITH near AS MATERIALIZED (SELECT rowid AS id, distance FROM {tier.vectors} "
        f"WHERE embedding MATCH ? AND k = ? {scope.condition('rowid')}) "
        f"SELECT near.id, near.distance FROM near JOIN {tier.documents} AS d ON d.id = near.id "
        "ORDER BY near.distance, d.doc_id"
    )


def nearest(connection: apsw.Connection, tier: Tier, query: bytes, k: int, scope: Scope) -> list[tuple[int, float]]:
    """Row ids and cosines of the ``k`` nearest, ties by document id."""
    wanted = min(k + 1, MAX_K)
    while True:
        found = rows(connection, nearest_sql(tier, scope), (query, wanted))
        # Which of equally near documents vec0 leaves out is chance, so they are all fetched before the cut.
        cut_in_a_tie = len(found) > k and found[-1][1] == found[k - 1][1]
        if not cut_in_a_tie or len(found) < wanted or wanted == MAX_K:
            return [(row_id, cosine(distance)) for row_id, distance in found[:k]]
        wanted = min(2 * wanted, MAX_K)


def background(connection: apsw.Connection, tier: Tier, scope: Scope) -> list[int]:
    """About 100 rows with a vector, chosen without regard to any query.

    The first by id: ids of tiers with vectors are hashes, so this is a random sample that changes little as the tier
    grows, and the same whatever order the documents came in.
    """
    found = rows(
        connection,
        f"SELECT d.id FROM {tier.documents} AS d WHERE EXISTS (SELECT 1 FROM {tier.vectors} AS v WHERE v.rowid = d.id) "
        f"{scope.condition('d.id')} ORDER BY d.doc_id LIMIT {BACKGROUND}",
    )
    return [row_id for (row_id,) in found]
