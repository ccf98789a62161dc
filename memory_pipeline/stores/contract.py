"""The contract every store keeps: what the tiers and retrieval need, no more.

A store holds documents of the classes in ``documents.DOCUMENTS``; the class names the index. Ranking, fusing and
formatting are retrieval's. ``memory_pipeline_tests/conformance`` runs the same tests against every store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from memory_pipeline.documents import Document

D = TypeVar("D", bound=Document)
Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Range:
    """Values from ``gte`` (included) to ``lt`` (excluded); None leaves that end open."""

    gte: str | float | None = None
    lt: str | float | None = None


@dataclass(frozen=True, slots=True)
class Exclude:
    """Documents whose field has none of these values; documents without a value are kept."""

    values: tuple[Scalar, ...]


Condition: TypeAlias = Scalar | Sequence[Scalar] | Range | Exclude | None
Where: TypeAlias = Mapping[str, Condition]
"""Field (or dotted path into an object) → condition; all must hold.

A scalar: equal, or contained in the field's list. A sequence: any of these (an empty one matches nothing).
None: the field has no value (an empty list is none). A field that the class does not have, or whose type is no exact
value (text, stored, vectors, whole objects), is a StoreError in every method.
"""

MAX_K = 4096
"""The most results that one search gives; ``k`` outside 1 … MAX_K is a ValueError."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One document that was not stored: why, and which field (``''`` where no single one)."""

    doc_id: str
    field: str
    reason: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What an upsert did, counted in documents."""

    written: int = 0
    unchanged: int = 0
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit(Generic[D]):
    """A document and its score (keyword: BM25, higher is better; vector: cosine, -1 to 1)."""

    document: D
    score: float


@dataclass(frozen=True, slots=True)
class Candidate(Generic[D]):
    """A document with what both arms say of it, whichever arm found it."""

    document: D
    keyword_score: float
    """BM25; 0.0 where no term matches."""
    terms: frozenset[str]
    """Those of the query's terms that the document holds."""
    cosine: float | None
    """None where the document has no vector or the query none."""


@dataclass(frozen=True, slots=True)
class Candidates(Generic[D]):
    """The union of both arms' best documents and the statistics that fusing needs, all under the same filter."""

    hits: tuple[Candidate[D], ...] = ()
    document_count: int = 0
    document_frequency: Mapping[str, int] = field(default_factory=dict)
    """Term → number of documents that hold it."""
    background: tuple[float, ...] = ()
    """Cosines of the query to about 100 stored vectors chosen without regard to the query."""


class MemoryStore(Protocol):
    """Read and write memories. Every method may raise StoreError with a sentence for people."""

    @property
    def location(self) -> str:
        """Where the data is (a path or a URL without credentials), for people."""
        ...

    def ensure_indices(self) -> None:
        """Make what is missing and upgrade what is older; does nothing where all is there."""
        ...

    def upsert(self, kind: type[D], documents: Iterable[D | Mapping[str, Any]]) -> BulkResult:
        """Store documents by id, in batches; equal ones are left untouched.

        A document that does not fit its class is refused, named in the result, and harms no other. A vector field (and
        ``embedding_model``) that is None leaves what is stored there as it is. A vector comes with its
        ``embedding_model`` and must fit those stored; without a vector ``embedding_model`` is the store's to tell, and
        what a document says of it is not looked at.
        """
        ...

    def put_vectors(self, kind: type[D], vectors: Mapping[str, Sequence[float]], *, model: str) -> BulkResult:
        """Set the vectors (unit length) of stored documents, and their ``embedding_model``.

        The first call fixes model and dimensions of the index; EmbeddingMismatch for another model. An unknown id or
        a vector of another length is refused by name.
        """
        ...

    def drop_vectors(self, kind: type[D]) -> int:
        """Forget all vectors of the index and the model they were made with; returns how many there were."""
        ...

    def embedding_model(self, kind: type[D]) -> tuple[str, int] | None:
        """Model and dimensions that the index holds vectors of; None where it holds none yet."""
        ...

    def get(self, kind: type[D], doc_ids: Sequence[str], *, vectors: bool = False) -> list[D]:
        """The documents that exist, in the order asked for."""
        ...

    def scan(
        self,
        kind: type[D],
        where: Where | None = None,
        *,
        order: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
        vectors: bool = False,
    ) -> Iterator[D]:
        """All matching documents, page by page, ordered by ``order`` then ``doc_id``.

        ``descending`` turns all of these around; documents without a value come last either way.
        Never the whole index in memory; a write in between may or may not be seen, but no document comes twice.
        """
        ...

    def count(self, kind: type[D], where: Where | None = None) -> int: ...

    def group_count(self, kind: type[D], by: str, where: Where | None = None) -> dict[str, int]:
        """Value of ``by`` (scalar field or dotted path) → number of matching documents with it.

        Values are told as text (``true`` and ``false`` for flags); documents without one are left out.
        """
        ...

    def delete(self, kind: type[D], where: Where) -> int:
        """Delete what matches; returns how many. An empty ``where`` is an error (ValueError)."""
        ...

    def keyword_search(
        self, kind: type[D], terms: Sequence[str], *, k: int, where: Where | None = None
    ) -> list[Hit[D]]:
        """The ``k`` best by BM25 over the text fields; a document needs one of the terms. Best first, ties by id."""
        ...

    def vector_search(
        self, kind: type[D], vector: Sequence[float], *, k: int, where: Where | None = None
    ) -> list[Hit[D]]:
        """The ``k`` nearest by cosine, the filter applied inside the search. Best first, ties by id."""
        ...

    def candidates(
        self,
        kind: type[D],
        terms: Sequence[str],
        vector: Sequence[float] | None,
        *,
        k: int,
        where: Where | None = None,
    ) -> Candidates[D]:
        """The union of each arm's best ``k``, with both scores for each and the statistics for fusing."""
        ...

    def expire(self, now: str) -> int:
        """Delete documents whose ``expires_at`` is not after ``now`` (a timestamp); returns how many."""
        ...

    def refresh(self) -> None:
        """Make everything written so far visible to the reads that follow."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...


@runtime_checkable
class SelfEmbedding(Protocol):
    """What a store adds that makes the vectors itself.

    It ignores vectors that documents bring, and a document that is changed has none until its text is set again.
    """

    def put_texts(self, kind: type[D], texts: Mapping[str, str], *, model: str, dimensions: int) -> BulkResult:
        """Set what the vectors of stored documents are made of; they are made before this returns.

        The first call fixes model and dimensions of the index; EmbeddingMismatch for another model. An unknown id is
        refused by name. A text longer than the model takes is cut at its end. Raises ModelError too.
        """
        ...
