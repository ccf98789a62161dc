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


class EventLog(SqliteEventLogStorage):
    """What ``event_log_storage`` in the home's dagster.yaml names. Threads share it, one at a time."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, sqlalchemy.Engine] = {}
        self._in_batch: dict[str, sqlalchemy.Connection] = {}
        self._tables: set[str] = set()
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
