"""Dagster's event log in SQLite, with its connections kept open and a batch of events in one transaction.

Dagster's own opens a connection for each event and each question, compiles its SQL anew for it and syncs the disk when
it closes: 17 ms an event, of which a run over 300 sessions has 3,000. The files and tables are Dagster's, unchanged: a
home can go back to Dagster's class at any time. ``_connect`` is all of its inner workings that is replaced; were it
renamed, the log would be slow again and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import dagster as dg
import sqlalchemy
from dagster._core.storage.event_log import SqliteEventLogStorage  # named in dagster.yaml files, so it will stay
from dagster._serdes import ConfigurableClassData

BATCH_VARIABLE = "DAGSTER_EVENT_BATCH_SIZE"
BATCH_EVENTS = 1_000
_INDEX = "index"
_BUSY_SECONDS = 30
_MOST_OPEN = 8
"""Databases kept open: the index, and one for each of the runs that were looked at last."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """Partition keys as one connection saw them at one state of the database."""

    database: object
    version: int
    keys: Mapping[str, None]


class EventLog(SqliteEventLogStorage):
    """What ``event_log_storage`` in the home's dagster.yaml names. Threads share it, one at a time."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, sqlalchemy.Engine] = {}
        self._in_batch: dict[str, sqlalchemy.Connection] = {}
        self._tables: set[str] = set()
        self._keys: dict[str, _Keys] = {}
        self._threads = threading.RLock()
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        return cls(inst_data=inst_data, **config_value)

    def has_table(self, table_name: str) -> bool:
        """Whether the index has it. Asked for every event, and once it is there it stays."""
        if table_name not in self._tables:
            with self.index_connection() as connection:
                if not sqlalchemy.inspect(connection).has_table(table_name):
                    return False
            self._tables.add(table_name)
        return True

    def get_dynamic_partitions(self, partitions_def_name: str) -> Sequence[str]:
        return list(self._known_keys(partitions_def_name))

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        return partition_key in self._known_keys(partitions_def_name)

    def _known_keys(self, partitions_def_name: str) -> Mapping[str, None]:
        """All keys, in order. Asked for several times a materialization; read only where the index has changed."""
        with self._threads:
            with self._connect(_INDEX) as connection:
                database = connection.connection.dbapi_connection
                # Another number after each commit of another connection, of whatever process (sqlite.org/pragma.html).
                version = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
            found = self._keys.get(partitions_def_name)
            if found is None or found.database is not database or found.version != version:
                keys = super().get_dynamic_partitions(partitions_def_name)
                found = self._keys[partitions_def_name] = _Keys(database, version, dict.fromkeys(keys))
            return found.keys

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        super().add_dynamic_partitions(partitions_def_name, partition_keys)
        self._keys.clear()

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        super().delete_dynamic_partition(partitions_def_name, partition_key)
        self._keys.clear()

    def store_event_batch(self, events: Sequence[dg.EventLogEntry]) -> None:
        shards = dict.fromkeys([_INDEX, *(event.run_id for event in events)])
        with self._threads, ExitStack() as transactions:
            transactions.callback(self._in_batch.clear)
            for shard in shards:
                connection = transactions.enter_context(self._connect(shard))
                self._in_batch[shard] = connection
            super().store_event_batch(events)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[sqlalchemy.Connection]:
        """A transaction on one database: ``index``, or the id of a run."""
        with self._threads:
            if shard in self._in_batch:
                yield self._in_batch[shard]
                return
            with self._engine(shard).begin() as connection:
                yield connection

    def _engine(self, shard: str) -> sqlalchemy.Engine:
        engine = self._engines.pop(shard, None)
        if engine is None:
            with super()._connect(shard):
                pass  # which makes the database where there is none
            engine = sqlalchemy.create_engine(
                self.conn_string_for_shard(shard), connect_args={"timeout": _BUSY_SECONDS}
            )
        self._engines[shard] = engine
        for oldest in list(self._engines)[:-_MOST_OPEN]:
            self._engines.pop(oldest).dispose()
        return engine

    def wipe(self) -> None:
        self._close()  # it removes the files
        super().wipe()

    def dispose(self) -> None:
        self._close()
        super().dispose()

    def _close(self) -> None:
        with self._threads:
            while self._engines:
                self._engines.popitem()[1].dispose()
