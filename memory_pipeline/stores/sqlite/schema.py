"""The tables of each tier, generated from ``documents.DOCUMENTS``, and what kind of file this is.

A tier has a table of documents (canonical JSON, without the vector), a full-text index of its text fields, a table of
keys for the indexed paths into lists, and, once there are vectors, a vec0 table. All share the document's row id,
which is never given twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import apsw

from memory_pipeline.documents import DOCUMENTS, Document, Meta
from memory_pipeline.errors import StoreError
from memory_pipeline.stores.admission import EMBEDDING_MODEL
from memory_pipeline.stores.fields import FieldPath, filter_path
from memory_pipeline.stores.sqlite.connection import single

VERSION = 4
"""Version of the schema, kept in ``user_version``; raise it with a migration whenever the tables change."""
APPLICATION_ID = 0x6D656D70
"""Marks a SQLite file as a store of this package ("memp")."""


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return apsw.format_sql_value(text)


def json_path(steps: tuple[str, ...]) -> str:
    """An SQL string with the JSON path of these steps."""
    return literal("$" + "".join(f".{quoted(step)}" for step in steps))


def as_set(values: Iterable[object]) -> str:
    """Any number of values as one, for the placeholder of ``json_each(?)``."""
    return json.dumps(list(values))


@dataclass(frozen=True)
class Tier:
    """One tier's tables (names quoted for SQL) and the fields that are indexed how."""

    kind: type[Document]
    prefix: str

    @cached_property
    def name(self) -> str:
        return f"{self.prefix}-{self.kind.index}"

    @cached_property
    def documents(self) -> str:
        return quoted(self.name)

    @cached_property
    def text(self) -> str:
        return quoted(f"{self.name}-text")

    @cached_property
    def keys(self) -> str:
        return quoted(f"{self.name}-keys")

    @cached_property
    def vectors(self) -> str:
        return quoted(self.vectors_name)

    @cached_property
    def vectors_name(self) -> str:
        return f"{self.name}-vectors"

    @cached_property
    def vector_field(self) -> str:
        """For messages; '' where the tier has none."""
        return self.kind.vector_field or ""

    @cached_property
    def text_fields(self) -> tuple[str, ...]:
        return self.kind.text_fields()

    @cached_property
    def indexed(self) -> tuple[FieldPath, ...]:
        """Paths with one value a document: an index on the expression."""
        return tuple(path for path in self._paths if not path.many)

    @cached_property
    def keyed(self) -> tuple[FieldPath, ...]:
        """Paths with several values a document: rows in the table of keys."""
        return tuple(path for path in self._paths if path.many)

    @cached_property
    def _paths(self) -> tuple[FieldPath, ...]:
        # Which documents have a vector is known from the table of vectors, so its model needs no index.
        names = (name for name in self.kind.indexed if name != EMBEDDING_MODEL)
        return tuple(filter_path(self.kind, name) for name in names)


def tiers(prefix: str) -> dict[type[Document], Tier]:
    return {kind: Tier(kind, prefix) for kind in DOCUMENTS}


def table_exists(connection: apsw.Connection, name: str) -> bool:
    """Whether there is a table of this (unquoted) name."""
    return bool(single(connection, "SELECT count(*) FROM sqlite_schema WHERE name = ?", (name,)))


def create(connection: apsw.Connection, tier: Tier) -> None:
    """Make the tables of a tier that has none."""
    connection.execute(
        f"CREATE TABLE {tier.documents} "
        "(id INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL UNIQUE, body TEXT NOT NULL) STRICT"
    )
    create_indexes(connection, tier)
    create_keys(connection, tier)
    if tier.text_fields:
        columns = ", ".join(quoted(name) for name in tier.text_fields)
        connection.execute(
            f"CREATE VIRTUAL TABLE {tier.text} USING fts5"
            f"({columns}, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        # Without it the words of deleted documents stay in the file until their part of the index is merged.
        connection.execute(f"INSERT INTO {tier.text} ({tier.text}, rank) VALUES ('secure-delete', 1)")


def create_indexes(connection: apsw.Connection, tier: Tier) -> None:
    for path in tier.indexed:
        connection.execute(
            f"CREATE INDEX IF NOT EXISTS {quoted(f'{tier.name}-{path.name}')} "
            f"ON {tier.documents} (json_extract(body, {json_path(path.outer)}))"
        )


def create_keys(connection: apsw.Connection, tier: Tier) -> None:
    if tier.keyed:
        connection.execute(
            f"CREATE TABLE {tier.keys} (field TEXT NOT NULL, value TEXT NOT NULL, id INTEGER NOT NULL, "
            "PRIMARY KEY (field, value, id)) WITHOUT ROWID, STRICT"
        )


def identify(connection: apsw.Connection, prefix: str) -> int:
    """The file's schema version, 0 for an empty file; StoreError for a file that is not for us to touch."""
    version = int(single(connection, "PRAGMA user_version"))
    application = single(connection, "PRAGMA application_id")
    if application == APPLICATION_ID:
        if version > VERSION:
            raise StoreError(
                f"The store {connection.filename} was written by a newer memory-pipeline (schema {version}, this one "
                f"knows {VERSION}); update memory-pipeline, or name another folder by MEMORY_DATA_DIR."
            )
        if not table_exists(connection, f"{prefix}-{Meta.index}"):
            raise StoreError(
                f"The store {connection.filename} was made with another index prefix than {prefix}; "
                "set MEMORY_INDEX_PREFIX to that one, or name another file."
            )
        return version
    if application or version or single(connection, "SELECT count(*) FROM sqlite_schema"):
        raise StoreError(
            f"The store {connection.filename} is a SQLite file of another program; move it away, or name another path."
        )
    return 0
