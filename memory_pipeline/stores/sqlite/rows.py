"""Writing and reading a tier's documents, with their full-text entries and keys. Inside a transaction of the caller."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import apsw
from pydantic import ValidationError

from memory_pipeline.errors import StoreError
from memory_pipeline.stores.admission import EMBEDDING_MODEL, Admitted
from memory_pipeline.stores.contract import D
from memory_pipeline.stores.sqlite.connection import rows, single
from memory_pipeline.stores.sqlite.embeddings import delete_vectors, having_vectors, read_vectors
from memory_pipeline.stores.sqlite.schema import Tier, as_set, quoted
from memory_pipeline.stores.vectors import decode_vector


def put_document(connection: apsw.Connection, tier: Tier, new: Admitted) -> tuple[int, bool]:
    """Insert or replace; the row's id, and whether anything was written."""
    row = connection.execute(f"SELECT id, body FROM {tier.documents} WHERE doc_id = ?", (new.doc_id,)).fetchone()
    if row is None:
        connection.execute(f"INSERT INTO {tier.documents} (doc_id, body) VALUES (?, ?)", (new.doc_id, new.body))
        row_id = connection.last_insert_rowid()
        _change_text(connection, tier, row_id, None, new.fields)
        _change_keys(connection, tier, row_id, None, new.fields)
        return row_id, True
    row_id, body = row
    if body == new.body:
        return row_id, False
    old = json.loads(body)
    connection.execute(f"UPDATE {tier.documents} SET body = ? WHERE id = ?", (new.body, row_id))
    _change_text(connection, tier, row_id, old, new.fields)
    _change_keys(connection, tier, row_id, old, new.fields)
    return row_id, True


def delete_documents(connection: apsw.Connection, tier: Tier, row_ids: Sequence[int], *, with_vectors: bool) -> None:
    """Delete rows with all that belongs to them; ``with_vectors``: whether the tier has a table of vectors."""
    for row_id in row_ids:
        old = json.loads(single(connection, f"SELECT body FROM {tier.documents} WHERE id = ?", (row_id,)))
        _change_text(connection, tier, row_id, old, None)
        _change_keys(connection, tier, row_id, old, None)
        connection.execute(f"DELETE FROM {tier.documents} WHERE id = ?", (row_id,))
    if with_vectors:
        delete_vectors(connection, tier, row_ids)


def read_documents(
    connection: apsw.Connection,
    tier: Tier,
    kind: type[D],
    row_ids: Sequence[int],
    *,
    model: str | None,
    vectors: bool = False,
) -> dict[int, D]:
    """Row id → document, for those that exist. ``model``: whose vectors the tier has, if any."""
    found = rows(
        connection,
        f"SELECT d.id, d.doc_id, d.body FROM json_each(?) AS w CROSS JOIN {tier.documents} AS d ON d.id = w.value",
        (as_set(row_ids),),
    )
    documents = {row_id: _decoded(kind, doc_id, body) for row_id, doc_id, body in found}
    if model is not None and kind.vector_field is not None:
        for row_id in having_vectors(connection, tier, list(documents)):
            setattr(documents[row_id], EMBEDDING_MODEL, model)
        if vectors:
            for row_id, raw in read_vectors(connection, tier, list(documents)).items():
                setattr(documents[row_id], kind.vector_field, decode_vector(raw))
    return documents


def row_ids(connection: apsw.Connection, tier: Tier, doc_ids: Sequence[str]) -> dict[str, int]:
    """Document id → row id, for those that exist."""
    found = rows(
        connection,
        f"SELECT d.doc_id, d.id FROM json_each(?) AS w CROSS JOIN {tier.documents} AS d ON d.doc_id = w.value",
        (as_set(doc_ids),),
    )
    return dict(found)


def _decoded(kind: type[D], doc_id: str, body: str) -> D:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors(include_url=False, include_input=False)[0]["loc"])
        raise StoreError(
            f"The stored document {doc_id} of {kind.index} does not fit this version of memory-pipeline "
            f"(field {where}); update memory-pipeline to the version that wrote it."
        ) from None


def _change_text(
    connection: apsw.Connection, tier: Tier, row_id: int, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> None:
    old_texts, new_texts = _texts(tier, old), _texts(tier, new)
    if old_texts == new_texts or not tier.text_fields:
        return
    columns = ", ".join(quoted(name) for name in tier.text_fields)
    places = ", ".join("?" * len(tier.text_fields))
    if old_texts is not None:
        # The index keeps no text of its own: it has to be told what it was given.
        connection.execute(
            f"INSERT INTO {tier.text} ({tier.text}, rowid, {columns}) VALUES ('delete', ?, {places})",
            (row_id, *old_texts),
        )
    if new_texts is not None:
        connection.execute(f"INSERT INTO {tier.text} (rowid, {columns}) VALUES (?, {places})", (row_id, *new_texts))


def _texts(tier: Tier, fields: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    if fields is None:
        return None
    values = (fields.get(name) for name in tier.text_fields)
    return tuple("\n".join(value) if isinstance(value, list) else value or "" for value in values)


def _change_keys(
    connection: apsw.Connection, tier: Tier, row_id: int, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> None:
    old_keys, new_keys = _keys(tier, old), _keys(tier, new)
    connection.executemany(
        f"DELETE FROM {tier.keys} WHERE field = ? AND value = ? AND id = ?",
        [(*key, row_id) for key in sorted(old_keys - new_keys)],
    )
    connection.executemany(
        f"INSERT INTO {tier.keys} (field, value, id) VALUES (?, ?, ?)",
        [(*key, row_id) for key in sorted(new_keys - old_keys)],
    )


def _keys(tier: Tier, fields: Mapping[str, Any] | None) -> set[tuple[str, str]]:
    if fields is None:
        return set()
    return {(path.name, value) for path in tier.keyed for value in path.values(fields)}
