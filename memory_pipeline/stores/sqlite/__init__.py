"""The embedded default store: one SQLite file with FTS5 and sqlite-vec, on ``apsw``."""

from memory_pipeline.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
