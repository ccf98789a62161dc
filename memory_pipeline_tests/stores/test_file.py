"""The store's file: private, whole when closed, untouched by what writes nothing, safe from a crash."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import numpy as np
import pytest

from memory_pipeline.documents import Fact, RawMessage
from memory_pipeline.errors import StoreError
from memory_pipeline.stores import BulkResult
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline.stores.sqlite.connection import Database
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, raw
from memory_pipeline_tests.stores.processes import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "memory.db"


def opened(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    store.ensure_indices()
    return store


def test_file_and_folder_are_for_their_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(path) as store:
            store.upsert(RawMessage, [raw(0)])
            names = {file.name for file in path.parent.iterdir()}
            assert names == {"memory.db", "memory.db-wal", "memory.db-shm"}
            assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
            assert path.parent.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_a_closed_store_is_one_whole_file(path: Path, tmp_path: Path) -> None:
    with opened(path) as store:
        store.upsert(RawMessage, [raw(n) for n in range(700)])
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    with opened(copy) as store:
        assert store.count(RawMessage) == 700


def test_reading_and_storing_equal_documents_does_not_change_a_byte(path: Path) -> None:
    messages, facts = [raw(n) for n in range(50)], [fact(f"fact {n}") for n in range(5)]
    vectors = {f.doc_id: at_angle(n) for n, f in enumerate(facts)}
    with opened(path) as store:
        store.upsert(RawMessage, messages)
        store.upsert(Fact, facts)
        store.put_vectors(Fact, vectors, model=MODEL)
    before, modified = path.read_bytes(), path.stat().st_mtime_ns
    with opened(path) as store:
        assert store.upsert(RawMessage, messages) == BulkResult(unchanged=50)
        assert store.upsert(Fact, store.get(Fact, list(vectors), vectors=True)) == BulkResult(unchanged=5)
        assert store.put_vectors(Fact, vectors, model=MODEL) == BulkResult(unchanged=5)
        assert len(store.candidates(Fact, ["fact"], at_angle(0), k=3, where={"kind": "decision"}).hits) >= 3
        assert len(list(store.scan(RawMessage))) == 50
        assert store.expire("2026-05-05T00:00:00.000Z") == 0
        assert store.delete(RawMessage, {"role": "nobody"}) == 0
    assert path.read_bytes() == before
    assert path.stat().st_mtime_ns == modified


def test_a_scan_left_open_keeps_no_transaction(path: Path) -> None:
    with opened(path) as store, opened(path) as other:
        store.upsert(RawMessage, [raw(n) for n in range(1200)])
        pages = store.scan(RawMessage)
        next(pages)
        other.upsert(RawMessage, [raw(n, role="tool") for n in range(1200)])
        checker = apsw.Connection(str(path))
        busy, frames, moved = checker.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        checker.close()
        assert (busy, frames, moved) == (0, 0, 0)
        assert len(list(pages)) == 1199


def test_what_was_stored_survives_a_crash(path: Path) -> None:
    run(
        """
        store = SqliteStore(path)
        store.ensure_indices()
        store.upsert(RawMessage, [raw(n) for n in range(600)])
        def dying():
            yield from (raw(n) for n in range(600, 1300))
            os._exit(0)
        store.upsert(RawMessage, dying())
        """,
        path,
    )
    assert (path.parent / "memory.db-wal").exists()
    with opened(path) as store:
        assert store.count(RawMessage) == 1100  # the last batch was not yet written
        assert len(store.keyword_search(RawMessage, ["message"], k=2000)) == 1100
        assert store.upsert(RawMessage, [raw(n) for n in range(1300)]) == BulkResult(written=200, unchanged=1100)


def test_a_batch_is_written_whole_or_not_at_all(path: Path) -> None:
    with opened(path) as store:
        with pytest.raises(StoreError, match="memory-raw-text"):
            breaker = apsw.Connection(str(path))
            breaker.execute('ALTER TABLE "memory-raw-text" RENAME TO "hidden"')
            breaker.close()
            store.upsert(RawMessage, [raw(n) for n in range(10)])
        assert store.count(RawMessage) == 0


def test_a_deleted_word_is_nowhere_in_the_file(path: Path) -> None:
    secret = "xylophonist"
    texts = {n: f"message {n} about {'the ' + secret if n == 250 else 'a gardener'}" for n in range(500)}
    with opened(path) as store:
        store.upsert(RawMessage, [raw(n, content=text, session_id=f"s-{n}") for n, text in texts.items()])
        store.upsert(Fact, [fact(f"{secret}s are rare"), fact("plain")])
        store.put_vectors(
            Fact, {fact(f"{secret}s are rare").doc_id: at_angle(33), fact("plain").doc_id: at_angle(1)}, model=MODEL
        )
    assert secret.encode() in path.read_bytes()
    with opened(path) as store:
        assert store.delete(RawMessage, {"session_id": "s-250"}) == 1
        assert store.upsert(Fact, [fact("x", doc_id=fact(f"{secret}s are rare").doc_id)]).written == 1
    left = path.read_bytes()
    for piece in (secret, "xylophon", "s-250"):
        assert piece.encode() not in left


def test_a_deleted_vector_is_nowhere_in_the_file(path: Path) -> None:
    gone, kept = fact("gone"), fact("kept")
    with opened(path) as store:
        store.upsert(Fact, [gone, kept])
        store.put_vectors(Fact, {gone.doc_id: at_angle(33, 64), kept.doc_id: at_angle(1, 64)}, model=MODEL)
        [vector] = store.get(Fact, [gone.doc_id], vectors=True)
    trace = np.asarray(vector.embedding, dtype="<f4").tobytes()[:8]
    assert trace in path.read_bytes()
    with opened(path) as store:
        store.delete(Fact, {"doc_id": gone.doc_id})
    assert trace not in path.read_bytes()


def test_vectors_that_went_missing_are_counted_as_missing(path: Path) -> None:
    facts = [fact(f"fact {n}") for n in range(30)]
    with opened(path) as store:
        store.upsert(Fact, facts)
        store.put_vectors(Fact, {f.doc_id: at_angle(n) for n, f in enumerate(facts)}, model=MODEL)
        with Database(path).write() as connection:
            connection.execute('DELETE FROM "memory-facts-vectors" WHERE rowid <= 10')
        assert store.count(Fact, {"embedding_model": None}) == 10
        assert store.count(Fact, {"embedding_model": MODEL}) == 20
        assert [f.embedding_model for f in store.get(Fact, [facts[0].doc_id, facts[20].doc_id])] == [None, MODEL]
