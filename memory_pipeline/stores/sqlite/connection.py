"""One connection to the store's file: opening it privately, its extensions, its transactions, its errors as sentences.

``apsw`` rather than the standard ``sqlite3``, which in many Pythons can't load extensions.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random

from memory_pipeline.errors import StoreError

BUSY_TIMEOUT_MS = 30_000


class Database:
    """The file, open for reading and writing by any thread, one at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file, made with its folder where missing, both for their owner only. Raises StoreError."""
        self.path = path
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        _make_private(path)
        with sentences(path):
            self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with sentences(path):
                self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                load_extensions(self._connection)
                _configure(self._connection)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """One consistent view of the file for as long as the block runs."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """All that the block writes, or nothing; waits for another writer first."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def use_write_ahead_log(self) -> None:
        """Let readers and a writer work side by side; stays with the file."""
        with self._opened() as connection:
            # Two connections that do this at once keep each other out, and SQLite then does not wait for its turn.
            for attempt in Retrying(
                retry=retry_if_exception_type(apsw.BusyError),
                stop=stop_after_delay(BUSY_TIMEOUT_MS / 1000),
                wait=wait_random(0.01, 0.1),
                reraise=True,
            ):
                with attempt:
                    connection.pragma("journal_mode", "WAL")

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        with self._lock, sentences(self.path):
            if self._connection is None:
                raise StoreError(f"The store {self.path} was closed; open it again.")
            yield self._connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[apsw.Connection]:
        with self._opened() as connection:
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # some errors have rolled it back already
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file. The last connection to it moves all of the write-ahead log into the file itself."""
        with self._lock, sentences(self.path):
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _make_private(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.is_dir():
            raise StoreError(f"The store {path} is a folder, where a file is needed; name another path.")
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives -wal and -shm the same mode
    except OSError as error:
        raise StoreError(
            f"The store {path} can't be opened ({error.strerror}); check that the folder exists and is yours to write."
        ) from error


def load_extensions(connection: apsw.Connection) -> None:
    """Load sqlite-vec and make sure that it and FTS5 answer; StoreError where one does not."""
    place = sqlite_vec.loadable_path()
    try:
        connection.enable_load_extension(True)
        connection.load_extension(place)
        connection.enable_load_extension(False)
        connection.execute("SELECT vec_version()").fetchall()
    except (apsw.ExtensionLoadingError, apsw.SQLError) as error:
        raise StoreError(
            f"The SQLite extension sqlite-vec at {place} can't be used ({error}); reinstall the package sqlite-vec."
        ) from error
    if not connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchall():
        raise StoreError("This SQLite has no full-text search (FTS5); reinstall the package apsw.")


def _configure(connection: apsw.Connection) -> None:
    connection.pragma("synchronous", "NORMAL")
    connection.pragma("temp_store", "MEMORY")
    connection.pragma("cache_size", -32_000)  # KiB
    connection.pragma("secure_delete", True)  # what was forgotten must not stay in free pages
    # The documents a search is limited to: filled once per search, looked up by each of its arms.
    connection.execute("CREATE TEMP TABLE scope (id INTEGER PRIMARY KEY)")


def rows(connection: apsw.Connection, sql: str, params: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    return connection.execute(sql, params).fetchall()


def single(connection: apsw.Connection, sql: str, params: tuple[Any, ...] = ()) -> Any:
    """The first column of the first row; None where there is no row."""
    row = connection.execute(sql, params).fetchone()
    return None if row is None else row[0]


@contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Turns what SQLite raises into a StoreError with a sentence."""
    try:
        yield
    except apsw.Error as error:
        raise StoreError(f"The store {path} {_sentence(error)}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"The store {path} was asked for text that is not valid Unicode; correct the text.") from error


def _sentence(error: apsw.Error) -> str:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return "is locked by another process; let that finish or end it, then run this again."
        case apsw.ReadOnlyError():
            return "is read-only; give yourself the right to write the file and its folder."
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
            return "can't be opened; check that its folder exists and that both are yours to read and write."
        case apsw.NotADBError():
            return "is not a SQLite file; move it away, or name another path."
        case apsw.CorruptError():
            return "is damaged; restore it from a copy, or move it away and run again to rebuild it from the logs."
        case apsw.FullError():
            return "has no room to grow: the disk is full; free some space, then run again."
        case apsw.IOError():
            return f"can't be read or written ({error}); check the disk: its free space, quota and health."
        case _:
            return f"could not do what was asked: SQLite says {error}."
