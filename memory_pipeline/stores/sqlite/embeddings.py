"""Reading and writing a tier's vec0 table: vectors by the document's row id. Inside a transaction of the caller.

Whether a document has a vector is known from this table alone, so that nothing can claim one that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memory_pipeline.stores.sqlite.connection import rows
from memory_pipeline.stores.sqlite.schema import Tier, as_set


def create_vectors(connection: apsw.Connection, tier: Tier, dimensions: int) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE {tier.vectors} USING vec0(embedding float[{dimensions}] distance_metric=cosine)"
    )


def put_vector(connection: apsw.Connection, tier: Tier, row_id: int, raw: bytes) -> bool:
    """Insert or replace; whether anything was written."""
    stored = read_vectors(connection, tier, [row_id]).get(row_id)
    if stored == raw:
        return False
    if stored is None:
        connection.execute(f"INSERT INTO {tier.vectors} (rowid, embedding) VALUES (?, ?)", (row_id, raw))
    else:
        connection.execute(f"UPDATE {tier.vectors} SET embedding = ? WHERE rowid = ?", (raw, row_id))
    return True


def delete_vectors(connection: apsw.Connection, tier: Tier, row_ids: Sequence[int]) -> None:
    for row_id in having_vectors(connection, tier, row_ids):
        connection.execute(f"DELETE FROM {tier.vectors} WHERE rowid = ?", (row_id,))


def having_vectors(connection: apsw.Connection, tier: Tier, row_ids: Sequence[int]) -> list[int]:
    """Those of the rows that have a vector."""
    return [row_id for (row_id,) in rows(connection, _each(tier, "v.rowid"), (as_set(row_ids),))]


def read_vectors(connection: apsw.Connection, tier: Tier, row_ids: Sequence[int]) -> dict[int, bytes]:
    """Row id → vector, for those that have one."""
    return dict(rows(connection, _each(tier, "v.rowid, v.embedding"), (as_set(row_ids),)))


def cosines(connection: apsw.Connection, tier: Tier, query: bytes, row_ids: Sequence[int]) -> dict[int, float]:
    """Row id → cosine to the query, for those that have a vector."""
    sql = _each(tier, "v.rowid, vec_distance_cosine(v.embedding, ?)")
    return {row_id: cosine(distance) for row_id, distance in rows(connection, sql, (query, as_set(row_ids)))}


def cosine(distance: float) -> float:
    """From sqlite-vec's cosine distance; rounding there can leave -1 to 1 by a hair."""
    return min(1.0, max(-1.0, 1.0 - distance))


def _each(tier: Tier, columns: str) -> str:
    # CROSS JOIN keeps the order, so that vec0 is asked row by row and does not read the whole table.
    return f"SELECT {columns} FROM json_each(?) AS w CROSS JOIN {tier.vectors} AS v ON v.rowid = w.value"
