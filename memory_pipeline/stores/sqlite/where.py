"""Filters and orders as SQL over a tier's table of documents, which the statements call ``d``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory_pipeline.documents import FieldType
from memory_pipeline.stores.admission import EMBEDDING_MODEL
from memory_pipeline.stores.contract import Condition, Exclude, Range, Where
from memory_pipeline.stores.fields import FieldPath, filter_path, sort_path
from memory_pipeline.stores.sqlite.schema import Tier, as_set, json_path, literal


@dataclass(frozen=True, slots=True)
class Clause:
    """An SQL condition and the values of its placeholders."""

    sql: str = "TRUE"
    params: tuple[str | int | float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class _Test:
    """What is asked of one value, and whether a document is wanted that has no such value."""

    sql: Callable[[str], str]
    params: tuple[str | int | float | None, ...] = ()
    negated: bool = False


def compile_where(tier: Tier, where: Where | None, model: str | None) -> Clause:
    """The filter as a condition; ``model`` is the one that the tier's vectors were made with, if it has any."""
    clauses = [_clause(tier, name, condition, model) for name, condition in (where or {}).items()]
    if not clauses:
        return Clause()
    return Clause(" AND ".join(c.sql for c in clauses), tuple(p for c in clauses for p in c.params))


def compile_order(tier: Tier, order: Sequence[str], descending: bool, model: str | None) -> str:
    """What follows ORDER BY: the fields (documents without a value last), then the id."""
    way = "DESC" if descending else "ASC"
    terms = [f"{expression(tier, sort_path(tier.kind, name), model)} {way} NULLS LAST" for name in order]
    return ", ".join([*terms, f"d.doc_id {way}"])


def expression(tier: Tier, path: FieldPath, model: str | None) -> str:
    """The SQL of a field that has one value a document."""
    if path.name == "doc_id":
        return "d.doc_id"
    if path.name == EMBEDDING_MODEL and tier.kind.vector_field is not None:
        if model is None:
            return "NULL"
        return f"CASE WHEN d.id IN (SELECT rowid FROM {tier.vectors}) THEN {literal(model)} END"
    return f"json_extract(d.body, {json_path(path.outer)})"


def elements(path: FieldPath) -> tuple[str, str]:
    """For a field with several values a document: what to select from (as ``e``), and a value's SQL."""
    value = f"json_extract(e.value, {json_path(path.inner)})" if path.inner else "e.value"
    return f"json_each(d.body, {json_path(path.outer)}) AS e", value


def values_of(path: FieldPath, value: str) -> str:
    """The value as text for people."""
    if path.type is FieldType.BOOLEAN:
        return f"iif({value}, 'true', 'false')"
    return f"CAST({value} AS TEXT)"


def _clause(tier: Tier, name: str, condition: Condition, model: str | None) -> Clause:
    path = filter_path(tier.kind, name)
    test = _test(condition)
    if not path.many:
        value = expression(tier, path, model)
        if condition is None:
            return Clause(f"{value} IS NULL")  # in these words an index answers it
        sql = test.sql(value)
        return Clause(f"({sql}) IS NOT TRUE" if test.negated else sql, test.params)
    found = "NOT" if test.negated else ""
    if path in tier.keyed:
        matching = f"SELECT e.id FROM {tier.keys} AS e WHERE e.field = {literal(name)} AND {test.sql('e.value')}"
        return Clause(f"d.id {found} IN ({matching})", test.params)
    source, value = elements(path)
    return Clause(f"{found} EXISTS (SELECT 1 FROM {source} WHERE {test.sql(value)})", test.params)


def _test(condition: Condition) -> _Test:
    if condition is None:
        return _Test(lambda v: f"{v} IS NOT NULL", negated=True)
    if isinstance(condition, Exclude):
        return _Test(_among, (as_set(condition.values),), negated=True)
    if isinstance(condition, Range):
        limits = [(sign, limit) for sign, limit in ((">=", condition.gte), ("<", condition.lt)) if limit is not None]
        if not limits:
            return _Test(lambda v: f"{v} IS NOT NULL")
        return _Test(lambda v: " AND ".join(f"{v} {sign} ?" for sign, _ in limits), tuple(limit for _, limit in limits))
    if isinstance(condition, str | int | float):
        return _Test(lambda v: f"{v} = ?", (condition,))
    return _Test(_among, (as_set(condition),))


def _among(value: str) -> str:
    return f"{value} IN (SELECT value FROM json_each(?))"
