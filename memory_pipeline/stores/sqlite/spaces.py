"""Where it is noted whose a tier's vectors are. Inside a transaction of the caller."""

from __future__ import annotations

import json

import apsw

from memory_pipeline.documents import Meta
from memory_pipeline.errors import StoreError
from memory_pipeline.stores.admission import admit
from memory_pipeline.stores.contract import Refused
from memory_pipeline.stores.spaces import Space, note_id
from memory_pipeline.stores.sqlite.connection import single
from memory_pipeline.stores.sqlite.embeddings import create_vectors
from memory_pipeline.stores.sqlite.rows import delete_documents, put_document, row_ids
from memory_pipeline.stores.sqlite.schema import Tier, table_exists


def read_space(connection: apsw.Connection, tier: Tier, meta: Tier) -> Space | None:
    """None where the tier has no vectors."""
    if tier.kind.vector_field is None or not table_exists(connection, tier.vectors_name):
        return None
    body = single(connection, f"SELECT body FROM {meta.documents} WHERE doc_id = ?", (note_id(tier.kind),))
    # Without its note nothing fits the vectors: every use of them is refused, with the remedy.
    if body is None:
        return Space(tier.name, "an unknown model", 0)
    value = json.loads(body)["value"]
    return Space(tier.name, value["model"], value["dimensions"])


def open_space(connection: apsw.Connection, tier: Tier, meta: Tier, space: Space) -> Space:
    """Make the table for vectors of this space, and note whose they are; returns the space."""
    create_vectors(connection, tier, space.dimensions)
    value = {"model": space.model, "dimensions": space.dimensions}
    note = admit(Meta, {"doc_id": note_id(tier.kind), "value": value})
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
    notes = row_ids(connection, meta, [note_id(tier.kind)])
    delete_documents(connection, meta, list(notes.values()), with_vectors=False)
    return count
