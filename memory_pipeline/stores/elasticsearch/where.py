"""Filters and orders in Elasticsearch's query language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from memory_pipeline.batches import batched
from memory_pipeline.documents import Document, FieldType
from memory_pipeline.stores.contract import Condition, Exclude, Range, Scalar, Where
from memory_pipeline.stores.fields import FieldPath, filter_path, sort_path

Query: TypeAlias = dict[str, Any]

_MOST_TERMS = 60_000  # in one query (index.max_terms_count is 65,536)


def compile_where(kind: type[Document], where: Where | None) -> list[Query]:
    """The conditions, all of which must hold; empty where everything matches."""
    return [_condition(filter_path(kind, name), condition) for name, condition in (where or {}).items()]


def all_of(filters: Sequence[Query]) -> Query:
    return {"bool": {"filter": list(filters)}} if filters else {"match_all": {}}


def none_of(*queries: Query) -> Query:
    return {"bool": {"must_not": list(queries)}}


def compile_order(kind: type[Document], order: Sequence[str], descending: bool) -> list[Query]:
    """By the fields (documents without a value last), then by the id."""
    way = "desc" if descending else "asc"
    fields = [sort_path(kind, name).name for name in order]
    return [*({name: {"order": way, "missing": "_last"}} for name in fields), {"doc_id": {"order": way}}]


def _condition(path: FieldPath, condition: Condition) -> Query:
    exists: Query = {"exists": {"field": path.name}}
    if condition is None:
        return none_of(exists)
    if isinstance(condition, Exclude):
        return none_of(_among(path, condition.values)) if condition.values else {"match_all": {}}
    if isinstance(condition, Range):
        limits = {sign: limit for sign, limit in (("gte", condition.gte), ("lt", condition.lt)) if limit is not None}
        return {"range": {path.name: limits}} if limits else exists
    if isinstance(condition, str | int | float):
        return _among(path, (condition,))
    return _among(path, condition)


def _among(path: FieldPath, values: Iterable[Scalar]) -> Query:
    fitting = list(dict.fromkeys(_comparable(path, value) for value in values if _fits(path, value)))
    parts: list[Query] = [{"terms": {path.name: batch}} for batch in batched(fitting, _MOST_TERMS)]
    if not parts:
        return {"match_none": {}}
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts}}


def _comparable(path: FieldPath, value: Scalar) -> Scalar:
    if path.type is FieldType.KEYWORD and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if path.type is FieldType.BOOLEAN:
        return bool(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _fits(path: FieldPath, value: Scalar) -> bool:
    """A value of another type equals nothing; the server would refuse the whole request."""
    if path.type in (FieldType.INTEGER, FieldType.FLOAT):
        return isinstance(value, int | float)
    if path.type is FieldType.BOOLEAN:
        return isinstance(value, bool | int)
    return True
