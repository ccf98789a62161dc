"""``SqliteStore``: the contract's methods, each one or a few short transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw
from pydantic import TypeAdapter

from memory_pipeline.documents import Meta, Timestamp
from memory_pipeline.stores.admission import admit
from memory_pipeline.stores.contract import BulkResult, Candidates, D, Hit, Where
from memory_pipeline.stores.fields import filter_path
from memory_pipeline.stores.queries import check_k, query_vector
from memory_pipeline.stores.sqlite import reading
from memory_pipeline.stores.sqlite.candidates import gather
from memory_pipeline.stores.sqlite.connection import Database
from memory_pipeline.stores.sqlite.migrations import ensure
from memory_pipeline.stores.sqlite.rows import delete_documents, read_documents, row_ids
from memory_pipeline.stores.sqlite.schema import Tier, identify, tiers
from memory_pipeline.stores.sqlite.search import Scope, best_by_keyword, nearest
from memory_pipeline.stores.sqlite.spaces import drop_space, read_space
from memory_pipeline.stores.sqlite.where import Clause, compile_order, compile_where, expression
from memory_pipeline.stores.sqlite.writing import (
    BATCH_ITEMS,
    admitted_size,
    batches,
    summed,
    write_documents,
    write_vectors,
)

_TIMESTAMP: TypeAdapter[str] = TypeAdapter(Timestamp)


class SqliteStore:
    """A memory store in one SQLite file; threads share it, other processes open it beside."""

    def __init__(self, path: Path, *, prefix: str = "memory") -> None:
        """Open the file, making it and its folder where missing. StoreError for a file that is none of ours."""
        self._prefix = prefix
        self._tiers = tiers(prefix)
        self._meta = self._tiers[Meta]
        self._database = Database(path)
        try:
            with self._database.read() as connection:
                identify(connection, prefix)
        except BaseException:
            self._database.close()
            raise

    @property
    def location(self) -> str:
        return str(self._database.path)

    def ensure_indices(self) -> None:
        ensure(self._database, self._prefix, self._tiers.values())

    # Writing

    def upsert(self, kind: type[D], documents: Iterable[D | Mapping[str, Any]]) -> BulkResult:
        tier = self._tiers[kind]
        results = []
        for batch in batches((admit(kind, document) for document in documents), admitted_size):
            with self._database.write() as connection:
                results.append(write_documents(connection, tier, self._meta, batch))
        return summed(results)

    def put_vectors(self, kind: type[D], vectors: Mapping[str, Sequence[float]], *, model: str) -> BulkResult:
        tier = self._tiers[kind]
        if kind.vector_field is None:
            raise ValueError(f"{kind.index} holds no vectors")
        results = []
        for batch in batches(vectors.items(), lambda item: 4 * len(item[1])):
            with self._database.write() as connection:
                results.append(write_vectors(connection, tier, self._meta, dict(batch), model))
        return summed(results)

    def drop_vectors(self, kind: type[D]) -> int:
        with self._database.write() as connection:
            return drop_space(connection, self._tiers[kind], self._meta)

    def delete(self, kind: type[D], where: Where) -> int:
        if not where:
            raise ValueError("delete needs a filter: an empty one would delete everything")
        tier = self._tiers[kind]
        return self._delete(tier, lambda model: compile_where(tier, where, model))

    def expire(self, now: str) -> int:
        _TIMESTAMP.validate_python(now)
        expiring = [tier for kind, tier in self._tiers.items() if "expires_at" in kind.model_fields]
        return sum(self._delete(tier, _expired(tier, now)) for tier in expiring)

    def _delete(self, tier: Tier, clause_for: Callable[[str | None], Clause]) -> int:
        deleted = 0
        while True:
            with self._database.write() as connection:
                model = self._model(connection, tier)
                found = reading.some_matching(connection, tier, clause_for(model), BATCH_ITEMS)
                delete_documents(connection, tier, found, with_vectors=model is not None)
            deleted += len(found)
            if len(found) < BATCH_ITEMS:
                return deleted

    # Reading

    def embedding_model(self, kind: type[D]) -> tuple[str, int] | None:
        with self._database.read() as connection:
            space = read_space(connection, self._tiers[kind], self._meta)
        return None if space is None else (space.model, space.dimensions)

    def get(self, kind: type[D], doc_ids: Sequence[str], *, vectors: bool = False) -> list[D]:
        tier = self._tiers[kind]
        found: dict[str, D] = {}
        for batch in batches(dict.fromkeys(doc_ids), len):
            with self._database.read() as connection:
                model = self._model(connection, tier)
                ids = row_ids(connection, tier, batch)
                documents = read_documents(connection, tier, kind, list(ids.values()), model=model, vectors=vectors)
            found |= {document.doc_id: document for document in documents.values()}
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
        tier = self._tiers[kind]
        with self._database.read() as connection:
            model = self._model(connection, tier)
            clause, terms = compile_where(tier, where, model), compile_order(tier, order, descending, model)
            pages = reading.pages(connection, tier, clause, terms, limit)
        for page in pages:
            # A transaction a page: a reader that takes its time must not keep the write-ahead log from being emptied.
            with self._database.read() as connection:
                model = self._model(connection, tier)
                still = reading.still_matching(connection, tier, page, compile_where(tier, where, model))
                found = read_documents(connection, tier, kind, still, model=model, vectors=vectors)
            yield from (found[row_id] for row_id in still)

    def count(self, kind: type[D], where: Where | None = None) -> int:
        tier = self._tiers[kind]
        with self._database.read() as connection:
            return reading.count(connection, tier, compile_where(tier, where, self._model(connection, tier)))

    def group_count(self, kind: type[D], by: str, where: Where | None = None) -> dict[str, int]:
        tier = self._tiers[kind]
        path = filter_path(kind, by)
        with self._database.read() as connection:
            model = self._model(connection, tier)
            return reading.group_count(connection, tier, path, compile_where(tier, where, model), model)

    # Searching

    def keyword_search(
        self, kind: type[D], terms: Sequence[str], *, k: int, where: Where | None = None
    ) -> list[Hit[D]]:
        check_k(k)
        tier = self._tiers[kind]
        with self._database.read() as connection:
            model = self._model(connection, tier)
            scope = Scope(connection, tier, compile_where(tier, where, model))
            return _hits(connection, tier, kind, best_by_keyword(connection, tier, terms, k, scope), model)

    def vector_search(
        self, kind: type[D], vector: Sequence[float], *, k: int, where: Where | None = None
    ) -> list[Hit[D]]:
        check_k(k)
        tier = self._tiers[kind]
        query = query_vector(vector)
        with self._database.read() as connection:
            space = read_space(connection, tier, self._meta)
            model = None if space is None else space.model
            scope = Scope(connection, tier, compile_where(tier, where, model))
            if space is None:
                return []
            space.check_query(query)
            return _hits(connection, tier, kind, nearest(connection, tier, query, k, scope), model)

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
        tier = self._tiers[kind]
        query = None if vector is None else query_vector(vector)
        with self._database.read() as connection:
            space = read_space(connection, tier, self._meta)
            model = None if space is None else space.model
            if space is None:
                query = None
            elif query is not None:
                space.check_query(query)
            scope = Scope(connection, tier, compile_where(tier, where, model))
            return gather(connection, tier, kind, terms, query, k=k, scope=scope, model=model)

    # Life

    def refresh(self) -> None:
        """Nothing to do: what a transaction wrote is visible when it ends."""

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _model(self, connection: apsw.Connection, tier: Tier) -> str | None:
        space = read_space(connection, tier, self._meta)
        return None if space is None else space.model


def _expired(tier: Tier, now: str) -> Callable[[str | None], Clause]:
    path = filter_path(tier.kind, "expires_at")
    return lambda model: Clause(f"{expression(tier, path, model)} <= ?", (now,))


def _hits(
    connection: apsw.Connection, tier: Tier, kind: type[D], best: Sequence[tuple[int, float]], model: str | None
) -> list[Hit[D]]:
    documents = read_documents(connection, tier, kind, [row_id for row_id, _ in best], model=model)
    return [Hit(documents[row_id], score) for row_id, score in best]
