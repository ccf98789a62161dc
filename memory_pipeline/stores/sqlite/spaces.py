"""Which model a tier's vectors are of: fixed with the first vector, kept in the meta tier, never mixed."""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw

from memory_pipeline.documents import Meta
from memory_pipeline.errors import EmbeddingMismatch, StoreError
from memory_pipeline.stores.admission import admit
from memory_pipeline.stores.contract import Refused
from memory_pipeline.stores.sqlite.connection import single
from memory_pipeline.stores.sqlite.embeddings import create_vectors
from memory_pipeline.stores.sqlite.rows import delete_documents, put_document, row_ids
from memory_pipeline.stores.sqlite.schema import Tier, table_exists
from memory_pipeline.stores.vectors import dimensions

_REMEDY = "use that model again, or make all vectors anew with: memory-pipeline run --reembed"


@dataclass(frozen=True, slots=True)
class Space:
    """What makes a tier's vectors comparable: who made them, and their length."""

    model: str
    dimensions: int

    def check_query(self, tier: Tier, raw: bytes) -> None:
        """EmbeddingMismatch for a query's vector of another length."""
        if dimensions(raw) != self.dimensions:
            raise EmbeddingMismatch(
                f"The query's vector has {dimensions(raw)} numbers, but {tier.name} holds vectors of {self.dimensions} "
                f"made by {self.model}; {_REMEDY}"
            )

    def check_model(self, tier: Tier, model: str) -> None:
        """EmbeddingMismatch for vectors of another model."""
        if model != self.model:
            raise EmbeddingMismatch(f"{tier.name} holds vectors made by {self.model}, not by {model}; {_REMEDY}")

    def wrong_length(self, raw: bytes) -> str | None:
        """Why a vector can't be stored here; None where it can."""
        if dimensions(raw) == self.dimensions:
            return None
        return f"has {dimensions(raw)} numbers, where vectors of {self.dimensions} are stored"


def read_space(connection: apsw.Connection, tier: Tier, meta: Tier) -> Space | None:
    """None where the tier has no vectors."""
    if tier.kind.vector_field is None or not table_exists(connection, tier.vectors_name):
        return None
    body = single(connection, f"SELECT body FROM {meta.documents} WHERE doc_id = ?", (_note(tier),))
    # Without its note nothing fits the vectors: every use of them is refused, with the remedy.
    if body is None:
        return Space("an unknown model", 0)
    value = json.loads(body)["value"]
    return Space(value["model"], value["dimensions"])


def open_space(connection: apsw.Connection, tier: Tier, meta: Tier, space: Space) -> Space:
    """Make the table for vectors of this space, and note whose they are; returns the space."""
    create_vectors(connection, tier, space.dimensions)
    value = {"model": space.model, "dimensions": space.dimensions}
    note = admit(Meta, {"doc_id": _note(tier), "value": value})
    if isinstance(note, Refused):
        raise StoreError(f"The name of the embedding model can't be stored: it {note.reason}.")
    put_document(connection, meta, note)
    return space


def drop_space(connection: apsw.Connection, tier: Tier, meta: Tier) -> int:
    """Forget the vectors and whose they were; returns how many there were."""
    if not table_exists(connection, tier.vectors_name):
        return 0
    count = int(single(connection, f"SELECT count(*) FROM {tier.vectors}"))
    connection.execute(f"DROP TABLE {tier.vectors}")
    notes = row_ids(connection, meta, [_note(tier)])
    delete_documents(connection, meta, list(notes.values()), with_vectors=False)
    return count


def _note(tier: Tier) -> str:
    return f"embedding:{tier.kind.index}"
