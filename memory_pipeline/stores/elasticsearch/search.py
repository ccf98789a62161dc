"""Both arms of a search, and their union with the statistics that fusing needs, in two round trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_pipeline.stores.contract import Candidate, Candidates, D, Hit
from memory_pipeline.stores.elasticsearch.connection import NotNow, Server, Source
from memory_pipeline.stores.elasticsearch.indices import Index
from memory_pipeline.stores.elasticsearch.mapping import WORDS
from memory_pipeline.stores.elasticsearch.reading import document_of, source_filter
from memory_pipeline.stores.elasticsearch.vector_fields import VectorField, nearest
from memory_pipeline.stores.elasticsearch.where import Query, all_of
from memory_pipeline.stores.vectors import decode_vector

EXACT_BELOW = 10_000
"""Documents in the index: with fewer, comparing with every vector is as fast as the graph, and misses none."""
BACKGROUND = 100
_BY_SCORE: list[Query] = [{"_score": {"order": "desc"}}, {"doc_id": {"order": "asc"}}]
_BY_ID: list[Query] = [{"doc_id": {"order": "asc"}}]


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
        return _within(score - 1.0 if self.exact else 2.0 * score - 1.0)

    def background(self) -> Query:
        """The first by id: as ids of tiers with vectors are hashes, a sample that knows nothing of the query."""
        body = {**self._compared(self.filters), "sort": _BY_ID, "size": BACKGROUND, "track_scores": True}
        return {**body, "_source": False, "track_total_hits": False}

    def statistics(self) -> Query:
        counted = {str(number): query for number, query in enumerate(self.term_queries)}
        aggs = {"terms": {"filters": {"filters": counted}}} if counted else {}
        return {"query": all_of(self.filters), "size": 0, "track_total_hits": True, "aggs": aggs}

    def keyword_of(self, names: Sequence[str]) -> Query:
        query = {"bool": {"filter": [{"ids": {"values": list(names)}}], "should": self.term_queries}}
        return {"query": query, "size": len(names), "_source": False, "track_total_hits": False}

    def cosines_of(self, names: Sequence[str]) -> Query:
        return {
            **self._compared([{"ids": {"values": list(names)}}]),
            "size": len(names),
            "_source": False,
            "track_total_hits": False,
        }

    @property
    def _answer(self) -> Query:
        return {"track_total_hits": False, "_source": source_filter(self.index)}

    @property
    def _numbers(self) -> list[float]:
        return decode_vector(self.vector or b"")

    @property
    def _vectors(self) -> VectorField:
        assert self.index.vectors is not None
        return self.index.vectors

    def _compared(self, filters: Sequence[Query]) -> Query:
        return {"query": self._vectors.compared(self._numbers, filters)}


def keyword_search(server: Server, arms: Arms, kind: type[D], k: int) -> list[Hit[D]]:
    if not arms.terms or not kind.text_fields():
        return []
    [found] = _ask(server, arms.index, [arms.keyword(k)])
    return [Hit(_document(arms, kind, hit), hit.score) for hit in _hits(found)]


def vector_search(server: Server, arms: Arms, kind: type[D], k: int) -> list[Hit[D]]:
    [found] = _ask(server, arms.index, [arms.nearest(k)])
    hits = [Hit(_document(arms, kind, hit), arms.cosine_of(hit.score)) for hit in _hits(found)]
    return sorted(hits, key=lambda hit: (-hit.score, hit.document.doc_id))


def candidates(server: Server, arms: Arms, kind: type[D], k: int) -> Candidates[D]:
    with_words = bool(arms.terms and kind.text_fields())
    with_vector = arms.vector is not None
    asked = [arms.statistics()]
    asked += [arms.keyword(k)] if with_words else []
    asked += [arms.nearest(k), arms.background()] if with_vector else []
    counted, *answers = _ask(server, arms.index, asked)
    found: dict[str, Scored] = {}
    for answer in answers[: with_words + with_vector]:
        found |= {hit.doc_id: hit for hit in _hits(answer)}
    names = sorted(found)
    asked = []
    if names:
        asked += [arms.keyword_of(names)] if with_words else []
        asked += [arms.cosines_of(names)] if with_vector else []
    second = [_hits(answer) for answer in _ask(server, arms.index, asked)]
    said = {hit.doc_id: hit for hit in second[0]} if names and with_words else {}
    near = {hit.doc_id: _within(hit.score - 1.0) for hit in second[-1]} if names and with_vector else {}
    hits = [
        Candidate(
            _document(arms, kind, found[name]),
            said[name].score if name in said else 0.0,
            frozenset(arms.terms[number] for number in said[name].terms) if name in said else frozenset(),
            near.get(name),
        )
        for name in names
    ]
    buckets = counted.get("aggregations", {}).get("terms", {}).get("buckets", {})
    return Candidates(
        tuple(sorted(hits, key=lambda hit: hit.document.doc_id)),
        counted["hits"]["total"]["value"],
        {term: buckets.get(str(number), {}).get("doc_count", 0) for number, term in enumerate(arms.terms)},
        tuple(_within(hit.score - 1.0) for hit in _hits(answers[-1])) if with_vector else (),
    )


def _document(arms: Arms, kind: type[D], hit: Scored) -> D:
    return document_of(arms.index, kind, {"_source": hit.source})


def _within(cosine: float) -> float:
    return min(1.0, max(-1.0, cosine))


def _ask(server: Server, index: Index, bodies: Sequence[Query]) -> list[Any]:
    if not bodies:
        return []
    # Terms are weighed over all shards of the index, as if it were one.
    header = {
        "index": index.alias,
        "search_type": "dfs_query_then_fetch",
        "allow_partial_search_results": False,
    }
    searches = [part for body in bodies for part in (header, body)]

    def ask() -> list[Any]:
        answers = list(server.client.msearch(searches=searches)["responses"])
        for answer in answers:
            if "error" in answer:
                raise NotNow(answer["status"], answer["error"])
        return answers

    return server(ask)


def _hits(answer: Any) -> list[Scored]:
    return [
        Scored(
            hit["_id"],
            float(hit["_score"]),
            hit.get("_source", {}),
            frozenset(map(int, hit.get("matched_queries", ()))),
        )
        for hit in answer["hits"]["hits"]
    ]
