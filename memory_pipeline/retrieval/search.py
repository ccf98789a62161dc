"""Searches memories by words and by meaning, and turns that have no memories yet by their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory_pipeline.documents import FINISHED, Summary, Turn
from memory_pipeline.errors import EmbeddingMismatch, ModelError
from memory_pipeline.models.contract import Embedder
from memory_pipeline.retrieval.fusion import fuse
from memory_pipeline.retrieval.query import query_terms
from memory_pipeline.retrieval.snippets import snippet
from memory_pipeline.stores.contract import Exclude, Hit, MemoryStore, Where

CANDIDATES = 20
"""The best of each arm that are fused; more change nothing (measured with 50 and 100)."""

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Found:
    """One result; ``score`` compares within one search only."""

    tier: Literal["summaries", "turns"]
    document: Summary | Turn
    score: float
    session_id: str
    turn_id: str
    snippet: str

    @property
    def turn_index(self) -> int:
        return int(self.turn_id.rpartition("_")[2])

    @property
    def when(self) -> str:
        """The event's time, from the log."""
        return self.document.established_at if isinstance(self.document, Summary) else self.document.started_at

    @property
    def project(self) -> str:
        return self.document.project


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Best first. ``degraded`` is a sentence on why only words were searched, where it was so."""

    found: tuple[Found, ...] = ()
    degraded: str | None = None


def search(
    store: MemoryStore, embedder: Embedder | None, query: str, *, k: int = 10, where: Where | None = None
) -> SearchResult:
    """The ``k`` best of all summaries and of the turns not distilled yet; nothing for a query without a word.

    ``where`` holds for both tiers. A turn is left out where one of its memories is found; several memories of one turn
    are several ideas and all stay. Where no vectors can be had, words alone decide. Raises ValueError for k < 1,
    StoreError.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    terms = query_terms(query)
    if not terms:
        return SearchResult()
    size = max(k, CANDIDATES)
    vector, degraded = _query_vector(store, embedder, query)
    try:
        memories = store.candidates(Summary, terms, vector, k=size, where=where)
    except EmbeddingMismatch as error:
        degraded = str(error)
        memories = store.candidates(Summary, terms, None, k=size, where=where)
    waiting = {**(where or {}), "distillation.state": Exclude(FINISHED), "copy_of": None}
    turns = store.candidates(Turn, terms, None, k=size, where=waiting)
    found = [_found_memory(hit) for hit in fuse(memories, terms)]
    remembered = {memory.turn_id for memory in found}
    found += [_found_turn(hit, terms) for hit in fuse(turns, terms) if hit.document.turn_id not in remembered]
    found.sort(key=lambda f: (-f.score, f.tier, f.document.doc_id))
    return SearchResult(tuple(found[:k]), degraded)


def _query_vector(store: MemoryStore, embedder: Embedder | None, query: str) -> tuple[Vector | None, str | None]:
    """The query's vector, or why there is none."""
    stored = store.embedding_model(Summary)
    if embedder is None:
        return None, "There is no embedding model."
    if stored is None:
        return None, "No memory has a vector yet."
    try:
        if stored != (embedder.model, embedder.dimensions):
            raise EmbeddingMismatch(
                f"The memories' vectors are of {stored[0]} ({stored[1]} dimensions), "
                f"the query's would be of {embedder.model} ({embedder.dimensions})."
            )
        return embedder.embed([query])[0], None
    except (ModelError, EmbeddingMismatch) as error:
        return None, str(error)


def _found_memory(hit: Hit[Summary]) -> Found:
    source = hit.document.source_refs[0]
    return Found("summaries", hit.document, hit.score, source.session_id, source.turn_id, hit.document.summary)


def _found_turn(hit: Hit[Turn], terms: Sequence[str]) -> Found:
    turn = hit.document
    return Found("turns", turn, hit.score, turn.session_id, turn.turn_id, snippet(turn.text, terms))
