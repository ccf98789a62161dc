"""``ElasticsearchStore``: the contract's methods over one cluster, for indices behind one prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from elasticsearch import ConflictError
from pydantic import TypeAdapter

from memory_pipeline.batches import batched, batched_by
from memory_pipeline.documents import Document, Meta, Timestamp
from memory_pipeline.errors import StoreError
from memory_pipeline.stores.admission import EMBEDDING_MODEL, Admitted, admit, canonical_json
from memory_pipeline.stores.contract import BulkResult, Candidates, D, Hit, Range, Refused, Where
from memory_pipeline.stores.elasticsearch import reading, search
from memory_pipeline.stores.elasticsearch.candidates import candidates
from memory_pipeline.stores.elasticsearch.connection import Server, Source
from memory_pipeline.stores.elasticsearch.indices import Index, Indices
from memory_pipeline.stores.elasticsearch.mapping import DIGEST
from memory_pipeline.stores.elasticsearch.search import Arms
from memory_pipeline.stores.elasticsearch.sentences import of_status
from memory_pipeline.stores.elasticsearch.vector_fields import INFERENCE_FIELDS, SemanticText
from memory_pipeline.stores.elasticsearch.where import Query, all_of, compile_order, compile_where
from memory_pipeline.stores.elasticsearch.writing import (
    BATCH_BYTES,
    BATCH_ITEMS,
    NewVector,
    make_id,
    write_documents,
    write_vectors,
)
from memory_pipeline.stores.fields import filter_path
from memory_pipeline.stores.queries import check_k, query_vector
from memory_pipeline.stores.spaces import Space, note_id
from memory_pipeline.stores.vectors import dimensions, encode_vector

_TIMESTAMP: TypeAdapter[str] = TypeAdapter(Timestamp)


class ElasticsearchStore:
    """A memory store in an Elasticsearch cluster; threads share it, other processes open it beside.

    What was written is visible to what this store reads next, by one refresh then, and to others after ``refresh`` or
    ``close``.
    """

    def __init__(self, server: Server, *, prefix: str = "memory", inference_id: str | None = None) -> None:
        self._server = server
        self._indices = Indices(server, prefix, inference_id)
        self._written: set[str] = set()
        self._sizes: dict[str, int] = {}
        self._closed = False

    @property
    def location(self) -> str:
        return self._server.place

    def ensure_indices(self) -> None:
        self._indices.ensure()

    def outdated(self) -> dict[str, list[str]]:
        """The indices that this version maps otherwise, each with the fields; ``migrate`` brings them up to date."""
        return {self._indices.aliases[kind]: fields for kind, fields in self._indices.outdated().items()}

    def migrate(self, watch: Callable[[str], None]) -> None:
        """Fill new indices in place of the outdated ones; ``watch`` is called with the name of each before."""
        for kind in self._indices.outdated():
            watch(self._indices.aliases[kind])
            space = self._space(kind) if kind is not Meta else None
            self._indices.rebuild(kind, lambda source: source, None if space is None else space.dimensions)

    def exists(self) -> bool:
        """Whether the cluster holds indices of this prefix."""
        return self._indices.exist()

    # Writing

    def upsert(self, kind: type[D], documents: Iterable[D | Mapping[str, Any]]) -> BulkResult:
        index = self._indices[kind]
        written = unchanged = 0
        refused: list[Refused] = []
        space = self._space(kind)
        if space is not None and index.vectors is None:
            self._indices.add_vectors(kind, space.dimensions)
        for batch in _batches(self._admit(kind, document) for document in documents):
            fitting: list[Admitted] = []
            for item in batch:
                if space is None and isinstance(item, Admitted) and item.vector is not None and item.model is not None:
                    space = self._open_space(Space(index.alias, item.model, dimensions(item.vector)), kind)
                checked = _fitting(index, space, item)
                if isinstance(checked, Refused):
                    refused.append(checked)
                else:
                    fitting.append(checked)
            self._written.add(index.alias)
            result = write_documents(self._server, self._indices, index, fitting)
            written += result.written
            unchanged += result.unchanged
            refused += result.refused
        return BulkResult(written, unchanged, tuple(refused))

    def _admit(self, kind: type[Document], document: object) -> Admitted | Refused:
        return admit(kind, document)

    def put_vectors(self, kind: type[D], vectors: Mapping[str, Sequence[float]], *, model: str) -> BulkResult:
        if kind.vector_field is None:
            raise ValueError(f"{kind.index} holds no vectors")
        index = self._indices[kind]
        space = self._space(kind)
        if space is not None:
            space.check_model(model)
            self._indices.add_vectors(kind, space.dimensions)
        written = unchanged = 0
        refused: list[Refused] = []
        for batch in batched_by(vectors.items(), BATCH_ITEMS, lambda item: 16 * len(item[1]), BATCH_BYTES):
            known = set(reading.get(self._server, index, kind, [doc_id for doc_id, _ in batch]))
            fitting: dict[str, bytes] = {}
            for doc_id, vector in batch:
                if doc_id not in known:
                    refused.append(Refused(doc_id, "doc_id", "is not in the store"))
                    continue
                try:
                    raw = encode_vector(vector)
                except ValueError as error:
                    refused.append(Refused(doc_id, kind.vector_field, str(error)))
                    continue
                space = space or self._open_space(Space(index.alias, model, dimensions(raw)), kind)
                if reason := space.wrong_length(raw):
                    refused.append(Refused(doc_id, kind.vector_field, reason))
                    continue
                fitting[doc_id] = raw
            if fitting:
                self._written.add(index.alias)
                new = {doc_id: NewVector.of_numbers(raw) for doc_id, raw in fitting.items()}
                done = write_vectors(self._server, index, new, model)
                written += done.written
                unchanged += done.unchanged
                refused += [Refused(doc_id, "doc_id", "is not in the store") for doc_id in done.unknown]
        return BulkResult(written, unchanged, tuple(refused))

    def drop_vectors(self, kind: type[D]) -> int:
        if kind.vector_field is None:
            return 0
        dropped = self.count(kind, {EMBEDDING_MODEL: Range()})
        index = self._indices[kind]
        if index.vectors is not None:
            beside = {index.vectors.name, INFERENCE_FIELDS, DIGEST, EMBEDDING_MODEL}
            # The length of a mapped vector can't be changed, so the index without vectors is another one.
            self._indices.rebuild(kind, lambda source: {n: v for n, v in source.items() if n not in beside})
        self.delete(Meta, {"doc_id": note_id(kind)})
        return dropped

    def delete(self, kind: type[D], where: Where) -> int:
        if not where:
            raise ValueError("delete needs a filter: an empty one would delete everything")
        return self._delete(kind, compile_where(kind, where))

    def expire(self, now: str) -> int:
        _TIMESTAMP.validate_python(now)
        expiring = [kind for kind in self._indices.aliases if "expires_at" in kind.model_fields]
        return sum(self._delete(kind, [{"range": {"expires_at": {"lte": now}}}]) for kind in expiring)

    def _delete(self, kind: type[Document], filters: Sequence[Query]) -> int:
        index = self._readable(kind)
        deleted = 0
        while True:
            self._written.add(index.alias)
            done = self._server(
                self._server.patient.delete_by_query,
                index=index.alias,
                query=all_of(filters),
                conflicts="proceed",
            )
            deleted += int(done["deleted"])
            for failure in done["failures"]:
                if failure.get("status") != 409:
                    raise of_status(failure.get("status", 503), failure.get("cause", {}), self._server.place)
            if not done["version_conflicts"]:
                return deleted
            self._refresh(index.alias)

    # Reading

    def embedding_model(self, kind: type[D]) -> tuple[str, int] | None:
        space = self._space(kind)
        return None if space is None else (space.model, space.dimensions)

    def get(self, kind: type[D], doc_ids: Sequence[str], *, vectors: bool = False) -> list[D]:
        index = self._with_vectors(kind) if vectors else self._indices[kind]
        read = reading.get_with_vectors if vectors else reading.get
        found: dict[str, D] = {}
        for batch in batched(dict.fromkeys(doc_ids), reading.GET_ITEMS):
            found |= read(self._server, index, kind, batch)
        return [found[doc_id] for doc_id in doc_ids if doc_id in found]

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
        filters, by = compile_where(kind, where), compile_order(kind, order, descending)
        index = self._with_vectors(kind) if vectors else self._readable(kind)
        yield from reading.scan(self._server, index, kind, filters, by, limit=limit, vectors=vectors)

    def count(self, kind: type[D], where: Where | None = None) -> int:
        filters = compile_where(kind, where)
        return reading.count(self._server, self._readable(kind), filters)

    def group_count(self, kind: type[D], by: str, where: Where | None = None) -> dict[str, int]:
        path, filters = filter_path(kind, by), compile_where(kind, where)
        return reading.group_count(self._server, self._readable(kind), path, filters)

    # Searching

    def keyword_search(
        self, kind: type[D], terms: Sequence[str], *, k: int, where: Where | None = None
    ) -> list[Hit[D]]:
        check_k(k)
        return search.keyword_search(self._server, self._arms(kind, terms, None, where), kind, k)

    def vector_search(
        self, kind: type[D], vector: Sequence[float], *, k: int, where: Where | None = None
    ) -> list[Hit[D]]:
        check_k(k)
        arms = self._arms(kind, (), query_vector(vector), where)
        return [] if arms.vector is None else search.vector_search(self._server, arms, kind, k)

    def candidates(
        self,
        kind: type[D],
        terms: Sequence[str],
        vector: Sequence[float] | None,
        *,
        k: int,
        where: Where | None = None,
    ) -> Candidates[D]:
        check_k(k)
        arms = self._arms(kind, terms, None if vector is None else query_vector(vector), where)
        return candidates(self._server, arms, kind, k)

    def _arms(self, kind: type[Document], terms: Sequence[str], vector: bytes | None, where: Where | None) -> Arms:
        filters = tuple(compile_where(kind, where))
        index = self._readable(kind) if vector is None else self._with_vectors(kind)
        if index.vectors is None:
            vector = None
        elif vector is not None and index.dimensions != dimensions(vector) and (space := self._space(kind)) is not None:
            space.check_query(vector)
        return Arms(index, tuple(dict.fromkeys(terms)), vector, filters, vector is not None and self._is_small(index))

    def _is_small(self, index: Index) -> bool:
        """Whether comparing with every vector is fast; an index only rarely shrinks, so a large one stays large."""
        if self._sizes.get(index.alias, 0) < search.EXACT_BELOW:
            self._sizes[index.alias] = reading.count(self._server, index, [])
        return self._sizes[index.alias] < search.EXACT_BELOW

    # Life

    def refresh(self) -> None:
        for alias in sorted(self._written):
            self._refresh(alias)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with suppress(StoreError):  # what was stored shows itself a second later in any case
            self.refresh()
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _readable(self, kind: type[Document]) -> Index:
        """The index, with all that this store wrote to it visible."""
        index = self._indices[kind]
        if index.alias in self._written:
            self._refresh(index.alias)
        return index

    def _with_vectors(self, kind: type[Document]) -> Index:
        """The readable index, with the field of its vectors, which others may have mapped meanwhile."""
        index = self._readable(kind)
        if index.vectors is None and self._space(kind) is not None:
            return self._indices.look_again(kind)
        return index

    def _refresh(self, alias: str) -> None:
        self._written.discard(alias)
        self._server(self._server.client.indices.refresh, index=alias)

    # Vector spaces

    def _space(self, kind: type[Document]) -> Space | None:
        if kind.vector_field is None:
            return None
        notes = self.get(Meta, [note_id(kind)])
        if not notes:
            return None
        return Space(self._indices.aliases[kind], notes[0].value["model"], notes[0].value["dimensions"])

    def _open_space(self, space: Space, kind: type[Document]) -> Space:
        """Note whose vectors the index holds; another process may have been faster, then it is that one's."""
        note: Source = {"doc_id": note_id(kind), "value": {"model": space.model, "dimensions": space.dimensions}}
        canonical_json(note)

        def create() -> None:
            with suppress(ConflictError):
                self._server.client.create(index=self._indices.aliases[Meta], id=make_id(note["doc_id"]), document=note)

        self._server(create)
        self._written.add(self._indices.aliases[Meta])
        space = self._space(kind) or space
        self._indices.add_vectors(kind, space.dimensions)
        return space


def _fitting(index: Index, space: Space | None, item: Admitted | Refused) -> Admitted | Refused:
    """The document, if its vector (where it brings one) is of the index's model and length."""
    if isinstance(item, Refused) or item.vector is None or item.model is None or space is None:
        return item
    if isinstance(index.vectors, SemanticText):
        return Refused(item.doc_id, index.vectors.name, "is made by an inference endpoint in this index")
    if reason := space.wrong_model(item.model):
        return Refused(item.doc_id, EMBEDDING_MODEL, reason)
    if reason := space.wrong_length(item.vector):
        return Refused(item.doc_id, index.kind.vector_field or "", reason)
    return item


def _batches(items: Iterable[Admitted | Refused]) -> Iterator[list[Admitted | Refused]]:
    """No batch holds an id twice: the last of several documents with one id is the one that stays."""
    batch: list[Admitted | Refused] = []
    seen: set[str] = set()
    size = 0
    for item in items:
        doc_id = item.doc_id if isinstance(item, Admitted) else ""
        if batch and (len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES or doc_id in seen):
            yield batch
            batch, seen, size = [], set(), 0
        batch.append(item)
        if isinstance(item, Admitted):
            seen.add(doc_id)
            size += len(item.body) + 4 * len(item.vector or b"")
    if batch:
        yield batch
