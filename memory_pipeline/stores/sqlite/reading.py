"""Listing and counting what matches a filter, by row id. Inside a transaction of the caller."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import apsw

from memory_pipeline.stores.fields import FieldPath
from memory_pipeline.stores.sqlite.connection import rows, single
from memory_pipeline.stores.sqlite.schema import Tier, as_set
from memory_pipeline.stores.sqlite.where import Clause, elements, expression, values_of
from memory_pipeline.stores.sqlite.writing import batches


def pages(connection: apsw.Connection, tier: Tier, clause: Clause, order: str, limit: int | None) -> list[array[int]]:
    """The row ids of all that matches, in order, cut into pages whose documents can be in memory together.

    Eight bytes a document; row ids are never given twice, so whatever is written between reading one page and the
    next, no document can come twice.
    """
    found = connection.execute(
        f"SELECT d.id, octet_length(d.body) FROM {tier.documents} AS d WHERE {clause.sql} ORDER BY {order} LIMIT ?",
        (*clause.params, -1 if limit is None else limit),
    )
    return [array("q", (row[0] for row in page)) for page in batches(found, lambda row: int(row[1]))]


def still_matching(connection: apsw.Connection, tier: Tier, row_ids: Iterable[int], clause: Clause) -> list[int]:
    """Those of the rows that are there and match, in the order given."""
    found = rows(
        connection,
        f"SELECT d.id FROM json_each(?) AS w CROSS JOIN {tier.documents} AS d ON d.id = w.value "
        f"WHERE {clause.sql} ORDER BY w.key",
        (as_set(row_ids), *clause.params),
    )
    return [row_id for (row_id,) in found]


def some_matching(connection: apsw.Connection, tier: Tier, clause: Clause, limit: int) -> list[int]:
    sql = f"SELECT d.id FROM {tier.documents} AS d WHERE {clause.sql} LIMIT {limit}"
    return [row_id for (row_id,) in rows(connection, sql, clause.params)]


def count(connection: apsw.Connection, tier: Tier, clause: Clause) -> int:
    return int(single(connection, f"SELECT count(*) FROM {tier.documents} AS d WHERE {clause.sql}", clause.params))


def group_count(
    connection: apsw.Connection, tier: Tier, path: FieldPath, clause: Clause, model: str | None
) -> dict[str, int]:
    source, value = elements(path) if path.many else ("(SELECT 1)", expression(tier, path, model))
    return dict(
        rows(
            connection,
            f"SELECT {values_of(path, value)}, count(DISTINCT d.id) FROM {tier.documents} AS d, {source} "
            f"WHERE {value} IS NOT NULL AND {clause.sql} GROUP BY {value} ORDER BY {value}",
            clause.params,
        )
    )
