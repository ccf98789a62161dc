"""Bulk writes of one batch: what is there is read first, and replaced only if nobody changed it in between.

So equal documents stay untouched, and of two that write the same document none undoes the other's work unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from elasticsearch.helpers import streaming_bulk
from numpy.typing import NDArray

from memory_pipeline.errors import StoreError
from memory_pipeline.languages import language_of
from memory_pipeline.stores.admission import EMBEDDING_MODEL, Admitted, canonical_json
from memory_pipeline.stores.contract import BulkResult, Refused
from memory_pipeline.stores.elasticsearch.connection import NotNow, Server, Source
from memory_pipeline.stores.elasticsearch.indices import Index, Indices
from memory_pipeline.stores.elasticsearch.mapping import DIGEST, MEMORABLE, WORDS, language_field
from memory_pipeline.stores.elasticsearch.sentences import PASSING, NotEmbedded, not_embedded, of_item, of_status
from memory_pipeline.stores.elasticsearch.vector_fields import INFERENCE_FIELDS, SemanticText
from memory_pipeline.stores.vectors import as_floats

BATCH_ITEMS = 500
BATCH_BYTES = 4_000_000
_LONGEST_ID = 512  # bytes
_TURNS_AT_ONE = 8
_KEEP_VECTOR = (
    "def kept = new HashMap(); for (name in params.kept) { if (ctx._source.containsKey(name)) "
    "{ kept[name] = ctx._source[name] } } ctx._source.clear(); ctx._source.putAll(params.fields); "
    "ctx._source.putAll(kept)"
)


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as it is in the index, without its vector."""

    seq_no: int
    primary_term: int
    source: Source

    @property
    def condition(self) -> dict[str, int]:
        return {"if_seq_no": self.seq_no, "if_primary_term": self.primary_term}


@dataclass(slots=True)
class Outcome:
    """What became of the actions of one bulk.

    ``overtaken``: ids of documents that others changed meanwhile; ``not_embedded``: those whose text the cluster could
    not make a vector of.
    """

    written: int = 0
    overtaken: set[str] = field(default_factory=set)
    refused: list[Refused] = field(default_factory=list)
    not_embedded: dict[str, NotEmbedded] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewVector:
    """What makes a vector: its numbers, or the text that the cluster makes them of; ``sha256`` tells them apart."""

    value: NDArray[np.float32] | str
    sha256: str

    @classmethod
    def of_numbers(cls, raw: bytes) -> Self:
        return cls(as_floats(raw), vector_digest(raw))

    @classmethod
    def of_text(cls, text: str) -> Self:
        return cls(text, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


@dataclass(slots=True)
class VectorsWritten:
    """What became of vectors; ``unknown``: ids that are not in the index."""

    written: int = 0
    unchanged: int = 0
    unknown: list[str] = field(default_factory=list)
    not_embedded: dict[str, NotEmbedded] = field(default_factory=dict)


def make_id(doc_id: str) -> str:
    """The ``_id`` of a document: its own id, where that is not too long for one."""
    raw = doc_id.encode("utf-8", "replace")
    return raw.decode() if len(raw) <= _LONGEST_ID else hashlib.sha256(raw).hexdigest()


def vector_digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def plain(index: Index, source: Mapping[str, Any]) -> Source:
    """The document's own fields, without what the store keeps beside them."""
    beside = {DIGEST, EMBEDDING_MODEL, index.kind.vector_field} if index.kind.vector_field else set()
    beside |= {INFERENCE_FIELDS, MEMORABLE}
    return {name: v for name, v in source.items() if name not in beside and not name.startswith(f"{WORDS}_")}


def write_documents(server: Server, indices: Indices, index: Index, batch: Sequence[Admitted]) -> BulkResult:
    """Store documents that are all different and whose vectors fit."""
    sources = {item.doc_id: _source(indices, index, item) for item in batch}
    pending = {item.doc_id: item for item in batch}
    written = unchanged = 0
    refused: list[Refused] = []
    for _ in range(_TURNS_AT_ONE):
        stored = read_stored(server, index, list(pending))
        actions: list[dict[str, Any]] = []
        for doc_id, item in pending.items():
            action = _action(index, item, sources[doc_id], stored.get(doc_id))
            if action is None:
                unchanged += 1
            else:
                actions.append(action)
        outcome = _bulk(server, index, actions)
        written += outcome.written
        refused += outcome.refused
        pending = {doc_id: pending[doc_id] for doc_id in pending if make_id(doc_id) in outcome.overtaken}
        if not pending:
            return BulkResult(written, unchanged, tuple(refused))
    raise StoreError(
        f"{len(pending)} documents of {index.alias} are being changed by others all the time; run again later."
    )


def write_vectors(server: Server, index: Index, vectors: Mapping[str, NewVector], model: str) -> VectorsWritten:
    """Set vectors that fit."""
    assert index.kind.vector_field is not None
    pending = dict(vectors)
    done = VectorsWritten()
    for _ in range(_TURNS_AT_ONE):
        stored = read_stored(server, index, list(pending))
        done.unknown += [doc_id for doc_id in pending if doc_id not in stored]
        actions = []
        for doc_id, new in pending.items():
            if (old := stored.get(doc_id)) is None:
                continue
            if old.source.get(DIGEST) == new.sha256:
                done.unchanged += 1
                continue
            fields = {index.kind.vector_field: new.value, DIGEST: new.sha256, EMBEDDING_MODEL: model}
            actions.append({"_op_type": "update", "_id": make_id(doc_id), **old.condition, "doc": fields})
        outcome = _bulk(server, index, actions)
        for refused in outcome.refused:
            raise StoreError(f"The vector of {refused.doc_id} was not stored in {index.alias}: it {refused.reason}.")
        done.written += outcome.written
        for doc_id in pending:
            if (failure := outcome.not_embedded.get(make_id(doc_id))) is not None:
                done.not_embedded[doc_id] = failure
        pending = {doc_id: new for doc_id, new in pending.items() if make_id(doc_id) in outcome.overtaken}
        if not pending:
            return done
    raise StoreError(f"{len(pending)} documents of {index.alias} are being changed by others all the time; run again.")


def read_stored(server: Server, index: Index, doc_ids: Sequence[str]) -> dict[str, Stored]:
    """The documents as they are now, refreshed or not, by id; those that are not there are left out."""
    if not doc_ids:
        return {}
    names = {make_id(doc_id): doc_id for doc_id in doc_ids}
    left_out = [index.kind.vector_field] if index.kind.vector_field else None
    hits = fetch(server, index, list(names), left_out)
    return {names[hit["_id"]]: Stored(hit["_seq_no"], hit["_primary_term"], hit["_source"]) for hit in hits}


def fetch(server: Server, index: Index, names: Sequence[str], left_out: Sequence[str] | None) -> list[dict[str, Any]]:
    """Those of the documents with these ``_id``s that are there."""

    def ask() -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = server.client.mget(index=index.alias, ids=names, source_excludes=left_out)["docs"]
        for hit in hits:
            if "error" in hit:
                raise NotNow(503, hit["error"])
        return [hit for hit in hits if hit["found"]]

    return server(ask)


def _action(index: Index, item: Admitted, source: Source, old: Stored | None) -> dict[str, Any] | None:
    """None where the same is stored already."""
    name = {"_id": make_id(item.doc_id)}
    if old is None:
        return {**name, "_op_type": "create", "_source": source}
    same_vector = item.vector is None or old.source.get(DIGEST) == vector_digest(item.vector)
    if same_vector and canonical_json(plain(index, old.source)) == item.body:
        return None
    # A part of a document with text for a vector can't be changed: Elasticsearch (8.19.13) loses the vector, without a
    # word, where the document was not refreshed before. So it goes, and is made anew like that of any new document.
    if item.vector is not None or DIGEST not in old.source or isinstance(index.vectors, SemanticText):
        return {**name, "_op_type": "index", **old.condition, "_source": source}
    kept = [index.kind.vector_field, DIGEST, EMBEDDING_MODEL]
    script = {"source": _KEEP_VECTOR, "params": {"fields": source, "kept": kept}}
    return {**name, "_op_type": "update", **old.condition, "script": script}


def _source(indices: Indices, index: Index, item: Admitted) -> Source:
    source = dict(item.fields)
    if item.vector is not None and item.model is not None:
        source |= _vector_fields(index, item.vector, item.model)
    field_name = _language_field(index, item.fields)
    if field_name is not None:
        indices.add_language(index.kind, field_name)
        source[field_name] = [text for name in index.kind.text_fields() for text in _texts(source.get(name))]
    return source


def _language_field(index: Index, fields: Mapping[str, Any]) -> str | None:
    """Where the document's text is analysed in its own language; tiers whose documents have none stay English."""
    if "language" not in index.kind.model_fields:
        return None
    told = fields["language"]
    if told is None:
        told = language_of(" ".join(text for name in index.kind.text_fields() for text in _texts(fields.get(name))))
    return language_field(told)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from value


def _vector_fields(index: Index, raw: bytes, model: str) -> Source:
    assert index.kind.vector_field is not None
    return {index.kind.vector_field: as_floats(raw), DIGEST: vector_digest(raw), EMBEDDING_MODEL: model}


def _bulk(server: Server, index: Index, actions: Iterable[dict[str, Any]]) -> Outcome:
    """Run the actions; every item is looked at. StoreError for what is nobody's own fault, such as a blocked index."""
    outcome = Outcome()

    def run() -> list[tuple[bool, dict[str, Any]]]:
        found = streaming_bulk(
            server.bulk,
            actions,
            index=index.alias,
            require_alias=True,
            max_chunk_bytes=2 * BATCH_BYTES,
            raise_on_error=False,
            max_retries=4,
            initial_backoff=1,
            max_backoff=10,
        )
        return list(found)

    for ok, item in server(run) if actions else ():
        [result] = item.values()
        if ok:
            outcome.written += 1
            continue
        status, error = result.get("status", 0), result.get("error") or {}
        cause = error if isinstance(error, Mapping) else {"reason": str(error)}
        if (failure := not_embedded(status, cause)) is not None:
            outcome.not_embedded[result["_id"]] = failure
        elif status == 409:
            outcome.overtaken.add(result["_id"])
        elif status in (401, 403, 404) or status in PASSING or status >= 500:
            raise of_status(status, cause, server.place)
        else:
            outcome.refused.append(Refused(result["_id"], *of_item(cause)))
    return outcome
