"""Where memories are kept: one contract, and the store that the settings name."""

from __future__ import annotations

from memory_pipeline.errors import StoreError
from memory_pipeline.private import private_folder
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import (
    MAX_K,
    BulkResult,
    Candidate,
    Candidates,
    Condition,
    Exclude,
    Hit,
    MemoryStore,
    Range,
    Refused,
    Where,
)

__all__ = [
    "MAX_K",
    "BulkResult",
    "Candidate",
    "Candidates",
    "Condition",
    "Exclude",
    "Hit",
    "MemoryStore",
    "Range",
    "Refused",
    "Where",
    "open_store",
    "store_exists",
]


def open_store(settings: Settings) -> MemoryStore:
    """The store that the settings name, ready for use; made, with the data folder, where it is missing.

    Raises StoreError or InputError with a sentence for people.
    """
    _only_sqlite(settings)
    from memory_pipeline.stores.sqlite import SqliteStore  # noqa: PLC0415  the extension modules load only when used

    private_folder(settings.data_dir)
    store = SqliteStore(settings.store_path, prefix=settings.index_prefix)
    try:
        store.ensure_indices()
    except BaseException:
        store.close()
        raise
    return store


def store_exists(settings: Settings) -> bool:
    """Whether anything was ever stored, without making a store: commands that only read ask this first."""
    _only_sqlite(settings)
    try:
        return settings.store_path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(
            f"The store {settings.store_path} can't be reached ({error.strerror}); check MEMORY_DATA_DIR."
        ) from None


def _only_sqlite(settings: Settings) -> None:
    if settings.store_kind == "elasticsearch":
        named = "MEMORY_STORE is elasticsearch" if settings.store else "ES_URL is set"
        raise StoreError(
            f"{named}, but the Elasticsearch store is not part of this version yet; set MEMORY_STORE=sqlite to keep "
            f"memories in {settings.store_path}."
        )
