"""Taking away what a test made."""

from __future__ import annotations

from elasticsearch import Elasticsearch


def drop_indices(client: Elasticsearch, prefix: str) -> None:
    """Delete the indices of a prefix, by name: servers refuse patterns for that."""
    names = list(client.indices.get(index=f"{prefix}-*", expand_wildcards="all"))
    if names:
        client.indices.delete(index=names)
