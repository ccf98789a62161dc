"""Where memories are kept: one contract, and the store that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    SelfEmbedding,
    Where,
)

if TYPE_CHECKING:
    from memory_pipeline.stores.elasticsearch import ElasticsearchStore, InferenceEmbedder

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
    "SelfEmbedding",
    "Where",
    "open_elasticsearch_store",
    "open_inference_embedder",
    "open_store",
    "store_exists",
]


def open_store(settings: Settings) -> MemoryStore:
    """The store that the settings name, ready for use; made, with the data folder, where it is missing.

    Raises StoreError or InputError with a sentence for people.
    """
    store = open_elasticsearch_store(settings) if settings.store_kind == "elasticsearch" else _sqlite(settings)
    try:
        store.ensure_indices()
    except BaseException:
        store.close()
        raise
    return store


def store_exists(settings: Settings) -> bool:
    """Whether anything was ever stored, without making a store: commands that only read ask this first."""
    if settings.store_kind == "elasticsearch":
        with open_elasticsearch_store(settings) as store:
            return store.exists()
    try:
        return settings.store_path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(
            f"The store {settings.store_path} can't be reached ({error.strerror}); check MEMORY_DATA_DIR."
        ) from None


# A store's modules load only when it is used: the one needs extensions of SQLite, the other takes its time.


def _sqlite(settings: Settings) -> MemoryStore:
    from memory_pipeline.stores.sqlite import SqliteStore  # noqa: PLC0415

    private_folder(settings.data_dir)
    return SqliteStore(settings.store_path, prefix=settings.index_prefix)


def open_elasticsearch_store(settings: Settings) -> ElasticsearchStore:
    """The Elasticsearch store that the settings name, not made ready yet. Raises StoreError."""
    from memory_pipeline.stores.elasticsearch import open_elasticsearch  # noqa: PLC0415

    inference_id = settings.es_inference_id if settings.embeddings == "elasticsearch" else None
    url, key = _cluster(settings)
    return open_elasticsearch(url, key, prefix=settings.index_prefix, inference_id=inference_id)


def open_inference_embedder(settings: Settings) -> InferenceEmbedder:
    """The inference endpoint that the settings name, as an embedder. Raises StoreError."""
    from memory_pipeline.stores.elasticsearch import open_inference  # noqa: PLC0415

    return open_inference(*_cluster(settings), settings.es_inference_id)


def _cluster(settings: Settings) -> tuple[str, str | None]:
    """Address and key."""
    if settings.es_url is None:
        raise StoreError("MEMORY_STORE is elasticsearch, but no server is named; set ES_URL.")
    return settings.es_url, None if settings.es_api_key is None else settings.es_api_key.get_secret_value()
