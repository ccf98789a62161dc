"""The union of both arms with the statistics that fusing needs, in two round trips of several searches each."""

from __future__ import annotations

from collections.abc import Mapping

from memory_pipeline.stores.contract import Candidate, Candidates, D
from memory_pipeline.stores.elasticsearch.connection import Server
from memory_pipeline.stores.elasticsearch.search import Arms, Scored, ask_all, by_name, document, within
from memory_pipeline.stores.elasticsearch.where import Query

BACKGROUND = 100
_SAMPLED = 1.4
"""So many times the background's size are looked at, so that hardly ever fewer are there."""
_FEWEST = 30
"""A sample of so many is enough (measured); with fewer every vector is looked at."""


def candidates(server: Server, arms: Arms, kind: type[D], k: int) -> Candidates[D]:
    with_words = bool(arms.terms and kind.text_fields())
    with_vector = arms.vector is not None
    asked = {"statistics": arms.statistics()}
    asked |= {"words": arms.keyword(k)} if with_words else {}
    asked |= {"nearest": arms.nearest_roughly(k)} if with_vector else {}
    first = ask_all(server, arms.index, asked)
    statistics = first["statistics"]
    count: int = statistics["hits"]["total"]["value"]
    said, rough = by_name(first.get("words")), by_name(first.get("nearest"))
    # What either arm says of what the other found, and what unrelated documents come to.
    lowest = _lowest(count)
    further = sorted(rough.keys() - said.keys())
    asked = {"cosines": arms.cosines_of(sorted(said | rough), lowest)} if with_vector else {}
    asked |= {"words": arms.words_of(further)} if with_words and further else {}
    asked |= {"documents": arms.documents(further)} if further else {}
    second = ask_all(server, arms.index, asked)
    found = said | by_name(second.get("documents"))
    cosines = {name: within(hit.score - 1.0) for name, hit in by_name(second.get("cosines")).items()}
    background = _background(cosines, lowest)
    if with_vector and lowest is not None and len(background) < _FEWEST:  # no hashes, or hardly any vectors
        first_by_id = by_name(ask_all(server, arms.index, {"": arms.first_by_id(BACKGROUND)})[""])
        background = tuple(within(hit.score - 1.0) for hit in first_by_id.values())
    # What was deleted between the two questions is no candidate.
    near = sorted(found.keys() & rough.keys() & cosines.keys(), key=lambda name: (-cosines[name], name))[:k]
    words = said | by_name(second.get("words"))
    hits = [
        _candidate(document(arms, kind, found[name]), words.get(name), cosines.get(name), arms)
        for name in {*said, *near}
    ]
    buckets: Mapping[str, Query] = statistics.get("aggregations", {}).get("terms", {}).get("buckets", {})
    return Candidates(
        tuple(sorted(hits, key=lambda hit: hit.document.doc_id)),
        count,
        {term: buckets.get(str(number), {}).get("doc_count", 0) for number, term in enumerate(arms.terms)},
        background,
    )


def _candidate(found: D, words: Scored | None, cosine: float | None, arms: Arms) -> Candidate[D]:
    if words is None:
        return Candidate(found, 0.0, frozenset(), cosine)
    return Candidate(found, words.score, frozenset(arms.terms[number] for number in words.terms), cosine)


def _lowest(count: int) -> str | None:
    """The id that enough of so many documents are below, ids being hashes; None: all of them are few enough.

    So the background knows nothing of the query, and only its documents are compared with it.
    """
    share = _SAMPLED * BACKGROUND / max(1, count)
    return f"{int(share * 16**8):08x}" if share < 1 else None


def _background(cosines: Mapping[str, float], lowest: str | None) -> tuple[float, ...]:
    """Of the first by id, as the other stores take them."""
    names = sorted(name for name in cosines if lowest is None or name < lowest)[:BACKGROUND]
    return tuple(cosines[name] for name in names)
