"""Where an index keeps its vectors: numbers that we send, or text of which the cluster makes them itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.stores.elasticsearch.where import Query, all_of
from memory_pipeline.stores.vectors import decode_vector, encode_vector

INDEX_OPTIONS: Mapping[str, Any] = {"type": "int8_hnsw", "m": 16, "ef_construction": 100}
"""A graph over the numbers as bytes; the few that it finds are compared exactly at the end."""
INFERENCE_FIELDS = "_inference_fields"
"""Where a document has the vectors that the cluster made, if a search asks for them."""
_COSINE = "cosineSimilarity(params.vector, params.field) + 1.0"
_CANDIDATES = 10_000  # Elasticsearch's own limit
_OVERSAMPLE = 2.0


class VectorField(Protocol):
    """A tier's vectors as they are mapped. ``name`` is the document's field, ``path`` where the numbers are."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def fetched(self) -> list[Mapping[str, Any]]:
        """What to ask a search for besides the source to get the numbers."""
        ...

    def mapping(self, dimensions: int) -> dict[str, Any]: ...

    def numbers(self, hit: Mapping[str, Any]) -> list[float] | None:
        """The vector of a hit that was asked for ``fetched``."""
        ...

    def compared(self, vector: NDArray[np.float32], filters: Sequence[Query]) -> Query:
        """Documents that have a vector, each with 1 + its cosine as the score."""
        ...


@dataclass(frozen=True, slots=True)
class DenseVector:
    """Vectors that are sent with the documents."""

    name: str

    @property
    def path(self) -> str:
        return self.name

    @property
    def fetched(self) -> list[Mapping[str, Any]]:
        return [{"field": self.name}]

    def mapping(self, dimensions: int) -> dict[str, Any]:
        return {
            "type": "dense_vector",
            "dims": dimensions,
            "similarity": "cosine",
            "index": True,
            "index_options": dict(INDEX_OPTIONS),
        }

    def numbers(self, hit: Mapping[str, Any]) -> list[float] | None:
        # Not from the source: newer servers leave vectors out of it.
        numbers = hit.get("fields", {}).get(self.name)
        return None if numbers is None else decode_vector(encode_vector(numbers))

    def compared(self, vector: NDArray[np.float32], filters: Sequence[Query]) -> Query:
        return _scored(all_of([*filters, {"exists": {"field": self.path}}]), vector, self.path)


@dataclass(frozen=True, slots=True)
class SemanticText:
    """Text that an inference endpoint of the cluster makes a vector of: one for each document, whatever its length."""

    name: str
    inference_id: str

    @property
    def path(self) -> str:
        return f"{self._chunks}.embeddings"

    @property
    def fetched(self) -> list[Mapping[str, Any]]:
        return [{"field": INFERENCE_FIELDS}]

    @property
    def _chunks(self) -> str:
        return f"{self.name}.inference.chunks"

    def mapping(self, dimensions: int) -> dict[str, Any]:  # noqa: ARG002  # the endpoint knows it
        return {
            "type": "semantic_text",
            "inference_id": self.inference_id,
            "chunking_settings": {"strategy": "none"},
            "index_options": {"dense_vector": dict(INDEX_OPTIONS)},
        }

    def numbers(self, hit: Mapping[str, Any]) -> list[float] | None:
        made = hit["_source"].get(INFERENCE_FIELDS, {}).get(self.name)
        chunks = made["inference"]["chunks"][self.name] if made else []
        return decode_vector(encode_vector(chunks[0]["embeddings"])) if chunks else None

    def compared(self, vector: NDArray[np.float32], filters: Sequence[Query]) -> Query:
        chunk = _scored({"exists": {"field": self.path}}, vector, self.path)
        nested = {"nested": {"path": self._chunks, "query": chunk, "score_mode": "max"}}
        return {"bool": {"filter": list(filters), "must": nested}}


AnyVectorField: TypeAlias = DenseVector | SemanticText


def as_mapped(name: str, mapped: Mapping[str, Any]) -> AnyVectorField:
    """The field by its mapping in an index."""
    if mapped["type"] == "semantic_text":
        return SemanticText(name, mapped["inference_id"])
    return DenseVector(name)


def nearest(
    field: VectorField, vector: NDArray[np.float32], k: int, filters: Sequence[Query], *, rescored: bool = True
) -> Query:
    """The ``knn`` part of a search; ``rescored``: with exact cosines at the end."""
    return {
        "field": field.path,
        "query_vector": vector,
        "k": k,
        "num_candidates": min(_CANDIDATES, max(2 * k, 200 if rescored else 100)),
        "filter": list(filters),
        **({"rescore_vector": {"oversample": _OVERSAMPLE}} if rescored else {}),
    }


def _scored(query: Query, vector: NDArray[np.float32], path: str) -> Query:
    script = {"source": _COSINE, "params": {"vector": vector, "field": path}}
    return {"script_score": {"query": query, "script": script}}
