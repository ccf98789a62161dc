"""Which model the vectors of an index are of: fixed with the first one, kept in the meta tier, never mixed."""

from __future__ import annotations

from dataclasses import dataclass

from memory_pipeline.documents import Document
from memory_pipeline.errors import EmbeddingMismatch
from memory_pipeline.stores.vectors import dimensions

_REMEDY = "use that model again, or make all vectors anew with: memory-pipeline run --reembed"


@dataclass(frozen=True, slots=True)
class Space:
    """What makes an index's vectors comparable: who made them, and their length. ``index`` is its name for people."""

    index: str
    model: str
    dimensions: int

    def check_query(self, raw: bytes) -> None:
        """EmbeddingMismatch for a query's vector of another length."""
        if dimensions(raw) != self.dimensions:
            raise EmbeddingMismatch(
                f"The query's vector has {dimensions(raw)} numbers, but {self.index} holds vectors of "
                f"{self.dimensions} made by {self.model}; {_REMEDY}"
            )

    def check_model(self, model: str) -> None:
        """EmbeddingMismatch for vectors of another model."""
        if model != self.model:
            raise EmbeddingMismatch(f"{self.index} holds vectors made by {self.model}, not by {model}; {_REMEDY}")

    def wrong_model(self, model: str) -> str | None:
        """Why vectors of this model can't be stored here; None where they can."""
        return None if model == self.model else f"is {model}, where vectors of {self.model} are stored"

    def wrong_length(self, raw: bytes) -> str | None:
        """Why a vector can't be stored here; None where it can."""
        if dimensions(raw) == self.dimensions:
            return None
        return f"has {dimensions(raw)} numbers, where vectors of {self.dimensions} are stored"


def note_id(kind: type[Document]) -> str:
    """The id of the note in the meta tier that says whose vectors an index holds."""
    return f"embedding:{kind.index}"
