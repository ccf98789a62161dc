"""Getting, listing and counting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory_pipeline.documents import FieldType
from memory_pipeline.stores.admission import EMBEDDING_MODEL
from memory_pipeline.stores.contract import D
from memory_pipeline.stores.elasticsearch.connection import NotNow, Server, Source
from memory_pipeline.stores.elasticsearch.indices import Index
from memory_pipeline.stores.elasticsearch.mapping import DIGEST, MEMORABLE, WORDS
from memory_pipeline.stores.elasticsearch.where import Query, all_of
from memory_pipeline.stores.elasticsearch.writing import fetch, make_id, plain
from memory_pipeline.stores.fields import FieldPath

KEEP_ALIVE = "5m"
_PAGE, _LARGEST_PAGE, _PAGE_BYTES = 50, 1_000, 4_000_000
_GROUPS = 1_000
GET_ITEMS = 100


def source_filter(index: Index) -> dict[str, Any]:
    """What of a stored document is asked for: everything of its own but the vector."""
    beside = [f"{WORDS}_*", DIGEST, MEMORABLE]
    return {"excludes": [*beside, index.kind.vector_field] if index.kind.vector_field else beside}


def document_of(index: Index, kind: type[D], hit: Mapping[str, Any]) -> D:
    """The document, with its vector where the hit was asked for it."""
    source: Source = hit["_source"]
    fields = plain(index, source)
    if kind.vector_field is not None:
        fields[kind.vector_field] = None if index.vectors is None else index.vectors.numbers(hit)
        fields[EMBEDDING_MODEL] = source.get(EMBEDDING_MODEL)
    return kind.model_validate(fields)


def get(server: Server, index: Index, kind: type[D], doc_ids: Sequence[str]) -> dict[str, D]:
    """The documents by id, as they are now, refreshed or not, without their vectors."""
    names = list({make_id(doc_id): None for doc_id in doc_ids})
    documents = [document_of(index, kind, hit) for hit in fetch(server, index, names, source_filter(index)["excludes"])]
    return {document.doc_id: document for document in documents}


def get_with_vectors(server: Server, index: Index, kind: type[D], doc_ids: Sequence[str]) -> dict[str, D]:
    """The documents by id with their vectors, as the index shows them."""
    found = server(
        server.client.search,
        index=index.alias,
        query={"ids": {"values": [make_id(doc_id) for doc_id in doc_ids]}},
        size=len(doc_ids),
        source=source_filter(index),
        fields=_vector_of(index),
        allow_partial_search_results=False,
    )
    documents = [document_of(index, kind, hit) for hit in found["hits"]["hits"]]
    return {document.doc_id: document for document in documents}


def _vector_of(index: Index) -> list[Mapping[str, Any]] | None:
    return None if index.vectors is None else index.vectors.fetched


def scan(
    server: Server,
    index: Index,
    kind: type[D],
    filters: Sequence[Query],
    order: Sequence[Query],
    *,
    limit: int | None,
    vectors: bool,
) -> Iterator[D]:
    """Page by page, as the index stood when the first page was asked for."""
    left = limit
    if left == 0:
        return
    client = server.client
    pit = server(client.open_point_in_time, index=index.alias, keep_alive=KEEP_ALIVE)["id"]
    try:
        after: list[Any] | None = None
        size = _PAGE
        while True:
            wanted = size if left is None else min(size, left)
            page = server(
                client.search,
                pit={"id": pit, "keep_alive": KEEP_ALIVE},
                query=all_of(filters),
                sort=list(order),
                size=wanted,
                search_after=after,
                source=source_filter(index),
                fields=_vector_of(index) if vectors else None,
                track_total_hits=False,
                allow_partial_search_results=False,
            )
            pit = page["pit_id"]
            hits = page["hits"]["hits"]
            for hit in hits:
                yield document_of(index, kind, hit)
            if left is not None:
                left -= len(hits)
            if len(hits) < wanted or left == 0:
                return
            after = hits[-1]["sort"]
            size = _next_size(size, page)
    finally:
        server(client.close_point_in_time, id=pit)


def _next_size(size: int, page: Any) -> int:
    """So many that a page stays at a few MB, whatever the size of the documents."""
    taken = int(page.meta.headers.get("content-length", 0) or 0) or _PAGE_BYTES // 4
    return max(1, min(_LARGEST_PAGE, 4 * size, size * _PAGE_BYTES // taken))


def count(server: Server, index: Index, filters: Sequence[Query]) -> int:
    def ask() -> int:
        found = server.client.count(index=index.alias, query=all_of(filters))
        if found["_shards"]["successful"] < found["_shards"]["total"]:
            raise NotNow(503, {"type": "no_shard_available_action_exception"})  # a part is no answer
        return int(found["count"])

    return server(ask)


def group_count(server: Server, index: Index, path: FieldPath, filters: Sequence[Query]) -> dict[str, int]:
    found: dict[str, int] = {}
    composite: dict[str, Any] = {"size": _GROUPS, "sources": [{"value": {"terms": {"field": path.name}}}]}
    while True:
        page = server(
            server.client.search,
            index=index.alias,
            size=0,
            query=all_of(filters),
            aggs={"groups": {"composite": composite}},
            track_total_hits=False,
            allow_partial_search_results=False,
        )
        groups = page["aggregations"]["groups"]
        for bucket in groups["buckets"]:
            found[_as_text(path, bucket["key"])] = bucket["doc_count"]
        if "after_key" not in groups:
            return found
        composite["after"] = groups["after_key"]


def _as_text(path: FieldPath, key: Mapping[str, Any]) -> str:
    value = key["value"]
    if path.type is FieldType.BOOLEAN:
        return "true" if value in (True, 1, "true") else "false"
    if path.type is FieldType.DATE and isinstance(value, int):
        told = datetime.fromtimestamp(value / 1000, UTC)
        if path.name == "day":
            return told.strftime("%Y-%m-%d")
        return told.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)
