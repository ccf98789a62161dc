"""From an empty file or an older schema to the current one, in one transaction: all of it or nothing.

Schema 1: documents, full-text indexes, vectors. Schema 2: the table of keys, so that filters on paths into lists
(``source_refs.session_id`` …) no longer read every document, and indexes for the fields that came to be filtered on.
Schema 3: an index of the turns' ``copy_key``. Schema 4: one of the sessions' ``forked_from``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import apsw

from memory_pipeline.stores.sqlite.connection import Database
from memory_pipeline.stores.sqlite.schema import (
    APPLICATION_ID,
    VERSION,
    Tier,
    create,
    create_indexes,
    create_keys,
    identify,
    json_path,
    literal,
    table_exists,
)


def ensure(database: Database, prefix: str, tiers: Collection[Tier]) -> None:
    """Bring the file to the current schema; writes nothing where it is there already."""
    with database.read() as connection:
        if identify(connection, prefix) == VERSION and not _missing(connection, tiers):
            return
    database.use_write_ahead_log()
    with database.write() as connection:
        version = identify(connection, prefix)  # another process may have been faster
        if version:
            present = [tier for tier in tiers if table_exists(connection, tier.name)]
            for migrate in MIGRATIONS[version - 1 :]:
                for tier in present:
                    migrate(connection, tier)
        for tier in _missing(connection, tiers):
            create(connection, tier)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)


def _missing(connection: apsw.Connection, tiers: Collection[Tier]) -> list[Tier]:
    return [tier for tier in tiers if not table_exists(connection, tier.name)]


def _add_keys(connection: apsw.Connection, tier: Tier) -> None:
    create_indexes(connection, tier)
    create_keys(connection, tier)
    for path in tier.keyed:
        value = f"json_extract(e.value, {json_path(path.inner)})" if path.inner else "e.value"
        connection.execute(
            f"INSERT OR IGNORE INTO {tier.keys} (field, value, id) "
            f"SELECT {literal(path.name)}, {value}, d.id "
            f"FROM {tier.documents} AS d, json_each(d.body, {json_path(path.outer)}) AS e "
            f"WHERE {value} IS NOT NULL"
        )


MIGRATIONS: tuple[Callable[[apsw.Connection, Tier], None], ...] = (_add_keys, create_indexes, create_indexes)
"""The step at position n takes each tier's tables from schema n + 1 to n + 2."""
