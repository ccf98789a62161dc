"""Bulk writes: one batch each, inside a transaction of the caller, every item's result told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import apsw

from memory_pipeline.batches import batched_by
from memory_pipeline.stores.admission import EMBEDDING_MODEL, Admitted
from memory_pipeline.stores.contract import BulkResult, Refused
from memory_pipeline.stores.spaces import Space
from memory_pipeline.stores.sqlite.embeddings import put_vector
from memory_pipeline.stores.sqlite.rows import put_document, row_ids
from memory_pipeline.stores.sqlite.schema import Tier
from memory_pipeline.stores.sqlite.spaces import open_space, read_space
from memory_pipeline.stores.vectors import dimensions, encode_vector

T = TypeVar("T")
BATCH_ITEMS = 500
BATCH_BYTES = 4_000_000


def batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Lists that are small enough to be written or read at once; ``size`` is an item's size in bytes."""
    return batched_by(items, BATCH_ITEMS, size, BATCH_BYTES)


def admitted_size(item: Admitted | Refused) -> int:
    return len(item.body) + len(item.vector or b"") if isinstance(item, Admitted) else 0


def summed(results: Iterable[BulkResult]) -> BulkResult:
    parts = list(results)
    return BulkResult(
        sum(part.written for part in parts),
        sum(part.unchanged for part in parts),
        tuple(refused for part in parts for refused in part.refused),
    )


def write_documents(
    connection: apsw.Connection, tier: Tier, meta: Tier, batch: Iterable[Admitted | Refused]
) -> BulkResult:
    space = read_space(connection, tier, meta)
    written = unchanged = 0
    refused: list[Refused] = []
    for item in batch:
        if isinstance(item, Admitted) and item.vector is not None and item.model is not None:
            space = space or open_space(connection, tier, meta, Space(tier.name, item.model, dimensions(item.vector)))
            item = _fitting(tier, space, item)  # noqa: PLW2901
        if isinstance(item, Refused):
            refused.append(item)
            continue
        row_id, changed = put_document(connection, tier, item)
        if item.vector is not None:
            changed = put_vector(connection, tier, row_id, item.vector) or changed
        written += changed
        unchanged += not changed
    return BulkResult(written, unchanged, tuple(refused))


def _fitting(tier: Tier, space: Space, item: Admitted) -> Admitted | Refused:
    if item.model is not None and (reason_of_model := space.wrong_model(item.model)):
        return Refused(item.doc_id, EMBEDDING_MODEL, reason_of_model)
    if item.vector is not None and (reason_of_length := space.wrong_length(item.vector)):
        return Refused(item.doc_id, tier.vector_field, reason_of_length)
    return item


def write_vectors(
    connection: apsw.Connection, tier: Tier, meta: Tier, batch: Mapping[str, Sequence[float]], model: str
) -> BulkResult:
    """Raises EmbeddingMismatch for another model than that of the stored vectors."""
    space = read_space(connection, tier, meta)
    if space is not None:
        space.check_model(model)
    ids = row_ids(connection, tier, list(batch))
    written = unchanged = 0
    refused: list[Refused] = []
    for doc_id, vector in batch.items():
        if doc_id not in ids:
            refused.append(Refused(doc_id, "doc_id", "is not in the store"))
            continue
        try:
            raw = encode_vector(vector)
        except ValueError as error:
            refused.append(Refused(doc_id, tier.vector_field, str(error)))
            continue
        space = space or open_space(connection, tier, meta, Space(tier.name, model, dimensions(raw)))
        if reason := space.wrong_length(raw):
            refused.append(Refused(doc_id, tier.vector_field, reason))
            continue
        changed = put_vector(connection, tier, ids[doc_id], raw)
        written += changed
        unchanged += not changed
    return BulkResult(written, unchanged, tuple(refused))
