"""What every store asks of a search before it runs it."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.errors import StoreError
from memory_pipeline.stores.contract import MAX_K
from memory_pipeline.stores.vectors import encode_vector


def check_k(k: int) -> None:
    """ValueError for a number of results that no search gives."""
    if not 1 <= k <= MAX_K:
        raise ValueError(f"k must be from 1 to {MAX_K}, not {k}")


def query_vector(vector: Sequence[float]) -> bytes:
    """The vector to search with, encoded; StoreError for one without a direction."""
    try:
        return encode_vector(vector)
    except ValueError as error:
        raise StoreError(f"The query's vector {error}; check what the embedding server answers.") from error
