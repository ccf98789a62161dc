"""What both arms of a search ask of the server, and each arm alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.stores.contract import MAX_K, D, Hit
from memory_pipeline.stores.elasticsearch.connection import NotNow, Server, Source
from memory_pipeline.stores.elasticsearch.indices import Index
from memory_pipeline.stores.elasticsearch.mapping import WORDS
from memory_pipeline.stores.elasticsearch.reading import document_of, source_filter
from memory_pipeline.stores.elasticsearch.vector_fields import VectorField, nearest
from memory_pipeline.stores.elasticsearch.where import Query, all_of
from memory_pipeline.stores.elasticsearch.writing import make_id
from memory_pipeline.stores.vectors import as_floats

EXACT_BELOW = 10_000
"""Documents in the index: with fewer, comparing with every vector is as fast as the graph, and misses none."""
_ROUGHLY = 1.25
"""So many times as many as are wanted are taken from the graph before their exact cosines decide."""
_MOST_OTHERS = 1_000
_BY_SCORE: list[Query] = [{"_score": {"order": "desc"}}, {"doc_id": {"order": "asc"}}]
_BY_ID: list[Query] = [{"doc_id": {"order": "asc"}}]
_NAMES: Query = {"stored_fields": "_none_", "docvalue_fields": ["doc_id"], "track_total_hits": False}
"""Documents by their ids alone: reading a hundred stored documents takes longer than scoring them."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A document that was found, by its ``_id``."""

    doc_id: str
    score: float
    source: Source
    terms: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Arms:
    """What is searched for: each term as a query of its own, and the vector, with the filter that holds for both."""

    index: Index
    terms: tuple[str, ...]
    vector: bytes | None
    filters: tuple[Query, ...]
    exact: bool

    def keyword(self, k: int) -> Query:
        return {
            "query": {"bool": {"filter": list(self.filters), "should": self.term_queries, "minimum_should_match": 1}},
            "sort": _BY_SCORE,
            "size": k,
            "track_total_hits": False,
            "_source": source_filter(self.index),
        }

    @property
    def term_queries(self) -> list[Query]:
        return [self._term(number, term) for number, term in enumerate(self.terms)]

    def _term(self, number: int, term: str) -> Query:
        text = term.encode("utf-8", "replace").decode()
        fields = [WORDS, *self.index.languages]
        queries: list[Query] = [{"match_phrase": {field: {"query": text}}} for field in fields]
        return {"dis_max": {"queries": queries, "_name": str(number)}}

    def nearest(self, k: int) -> Query:
        if self.exact:
            return {**self._compared(self.filters), "sort": _BY_SCORE, "size": k, **self._answer}
        knn = nearest(self._vectors, self._numbers, k, self.filters)
        return {"knn": knn, "size": k, **self._answer}

    def cosine_of(self, score: float) -> float:
        """From the score of ``nearest``."""
        return within(score - 1.0 if self.exact else 2.0 * score - 1.0)

    def statistics(self) -> Query:
        counted = {str(number): query for number, query in enumerate(self.term_queries)}
        aggs = {"terms": {"filters": {"filters": counted}}} if counted else {}
        return {"query": all_of(self.filters), "size": 0, "track_total_hits": True, "aggs": aggs}

    def nearest_roughly(self, k: int) -> Query:
        """A few more than ``k``, as the graph ranks them, by name alone; exact where every vector is compared."""
        if self.exact:
            return {**self._compared(self.filters), "sort": _BY_SCORE, "size": k, **_NAMES}
        size = min(MAX_K, ceil(_ROUGHLY * k))
        knn = nearest(self._vectors, self._numbers, size, self.filters, rescored=False)
        return {"knn": knn, "size": size, **_NAMES}

    def words_of(self, names: Sequence[str]) -> Query:
        """What the words of these documents come to."""
        query = {"bool": {"filter": [_named(names)], "should": self.term_queries}}
        return {"query": query, "size": len(names), **_NAMES}

    def cosines_of(self, names: Sequence[str], lowest: str | None) -> Query:
        """The cosines of these documents, and of all whose id is below ``lowest`` (None: of all there are)."""
        others = [] if lowest is None else [{"range": {"doc_id": {"lt": lowest}}}]
        either = {"bool": {"should": [_named(names), all_of([*self.filters, *others])], "minimum_should_match": 1}}
        return {**self._compared([either]), "size": len(names) + _MOST_OTHERS, **_NAMES}

    def first_by_id(self, count: int) -> Query:
        """The cosines of the first documents by id; compares every vector."""
        return {**self._compared(self.filters), "sort": _BY_ID, "track_scores": True, "size": count, **_NAMES}

    def documents(self, names: Sequence[str]) -> Query:
        return {"query": _named(names), "size": len(names), **self._answer}

    @property
    def _answer(self) -> Query:
        return {"track_total_hits": False, "_source": source_filter(self.index)}

    @property
    def _numbers(self) -> NDArray[np.float32]:
        return as_floats(self.vector or b"")

    @property
    def _vectors(self) -> VectorField:
        assert self.index.vectors is not None
        return self.index.vectors

    def _compared(self, filters: Sequence[Query]) -> Query:
        return {"query": self._vectors.compared(self._numbers, filters)}


def _named(names: Sequence[str]) -> Query:
    return {"ids": {"values": list(names)}}


def keyword_search(server: Server, arms: Arms, kind: type[D], k: int) -> list[Hit[D]]:
    if not arms.terms or not kind.text_fields():
        return []
    [found] = ask(server, arms.index, [arms.keyword(k)])
    return [Hit(document(arms, kind, hit), hit.score) for hit in hits_of(found)]


def vector_search(server: Server, arms: Arms, kind: type[D], k: int) -> list[Hit[D]]:
    [found] = ask(server, arms.index, [arms.nearest(k)])
    hits = [Hit(document(arms, kind, hit), arms.cosine_of(hit.score)) for hit in hits_of(found)]
    return sorted(hits, key=lambda hit: (-hit.score, hit.document.doc_id))


def document(arms: Arms, kind: type[D], hit: Scored) -> D:
    return document_of(arms.index, kind, {"_source": hit.source})


def within(cosine: float) -> float:
    return min(1.0, max(-1.0, cosine))


def ask_all(server: Server, index: Index, asked: Mapping[str, Query]) -> dict[str, Any]:
    return dict(zip(asked, ask(server, index, list(asked.values())), strict=True))


def by_name(answer: Any) -> dict[str, Scored]:
    return {} if answer is None else {hit.doc_id: hit for hit in hits_of(answer)}


def ask(server: Server, index: Index, bodies: Sequence[Query]) -> list[Any]:
    if not bodies:
        return []
    # Terms are weighed over all shards of the index, as if it were one.
    header = {
        "index": index.alias,
        "search_type": "dfs_query_then_fetch",
        "allow_partial_search_results": False,
    }
    searches = [part for body in bodies for part in (header, body)]

    def answered() -> list[Any]:
        answers = list(server.client.msearch(searches=searches)["responses"])
        for answer in answers:
            if "error" in answer:
                raise NotNow(answer["status"], answer["error"])
        return answers

    return server(answered)


def hits_of(answer: Any) -> list[Scored]:
    return [
        Scored(
            hit["_id"] if "_id" in hit else make_id(hit["fields"]["doc_id"][0]),
            float(hit["_score"]),
            hit.get("_source", {}),
            frozenset(map(int, hit.get("matched_queries", ()))),
        )
        for hit in answer["hits"]["hits"]
    ]
