"""A store of schema 1 becomes one of today, with all that is in it; and tables never change without a migration."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import apsw
import pytest
import sqlite_vec

from memory_pipeline.documents import DOCUMENTS, Entity, Fact, Meta, RawMessage, Summary, Turn
from memory_pipeline.errors import StoreError
from memory_pipeline.stores import BulkResult, Exclude
from memory_pipeline.stores.sqlite import SqliteStore, migrations
from memory_pipeline.stores.sqlite.schema import VERSION, Tier
from memory_pipeline_tests.stores import make_schema_1 as old
from memory_pipeline_tests.stores.processes import finish, go, start

SCHEMA_1 = Path(__file__).parent / "data" / "schema-1.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    copy = tmp_path / "memory.db"
    copy.write_bytes(SCHEMA_1.read_bytes())
    return copy


def tables(path: Path) -> dict[str, str]:
    """Name → statement of what is in the file's schema, but for what the virtual tables keep for themselves."""
    db = apsw.Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    found = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
    db.close()
    return {str(name): str(sql) for name, sql in found if not re.search("-(text|vectors)_|^sqlite_", str(name))}


def version(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[60:64])


def test_the_old_file_is_what_its_script_makes(tmp_path: Path) -> None:
    old.make(tmp_path / "made.db")
    assert tables(tmp_path / "made.db") == tables(SCHEMA_1)
    assert version(SCHEMA_1) == version(tmp_path / "made.db") == 1
    assert len(SCHEMA_1.read_bytes()) < 300_000


def holds(document: object, fields: object) -> bool:
    """Whether all that an older version knew is there unchanged, beside what came to be known since."""
    if isinstance(document, dict) and isinstance(fields, dict):
        return all(name in document and holds(document[name], value) for name, value in fields.items())
    if isinstance(document, list) and isinstance(fields, list):
        return len(document) == len(fields) and all(map(holds, document, fields))
    return document == fields


def test_everything_is_still_there_after_the_upgrade(path: Path) -> None:
    with SqliteStore(path) as store:
        store.ensure_indices()
        for kind in DOCUMENTS:
            wanted = sorted(old.DOCUMENTS.get(kind.index, []), key=lambda fields: fields["doc_id"])
            hidden = {kind.vector_field, "embedding_model"} if kind.vector_field else set()
            found = [d.model_dump(exclude=hidden) for d in store.scan(kind)]
            assert found == [kind.model_validate(fields).model_dump(exclude=hidden) for fields in wanted], kind.index
            assert all(holds(document, fields) for fields, document in zip(wanted, found, strict=True))
    assert version(path) == VERSION


def test_searches_and_filters_find_what_they_should_after_the_upgrade(path: Path) -> None:
    with SqliteStore(path) as store:
        store.ensure_indices()
        for words, doc_id in {"wasp": "summary-2", "fruhjahr": "summary-4", "tag-1": "summary-1"}.items():
            assert store.keyword_search(Summary, [words], k=5)[0].document.doc_id == doc_id
        assert len(store.keyword_search(RawMessage, ["boskoop"], k=5)) == 2
        assert [d.doc_id for d in store.scan(Summary, {"source_refs.session_id": "2026-03-02 c,d"})] == ["summary-3"]
        assert [d.doc_id for d in store.scan(Summary, {"source_refs.turn_id": "2026-03-01_a-b_4"})] == ["summary-4"]
        assert store.count(Summary, {"source_refs.session_id": Exclude(("2026-03-02 c,d",))}) == 4
        assert [d.doc_id for d in store.scan(Entity, {"source_refs.session_id": "2026-03-02 c,d"})] == ["entity-0"]
        assert [d.doc_id for d in store.scan(Fact, {"invalid_at": None, "former_ids": "old-fact"})] == ["fact-1"]
        assert store.group_count(Turn, "distillation.state") == {"pending": 1, "stored": 4}
        assert store.expire("2026-04-01T00:00:00.000Z") == 1


def test_vectors_are_still_found_after_the_upgrade(path: Path) -> None:
    with SqliteStore(path) as store:
        store.ensure_indices()
        assert store.embedding_model(Summary) == (old.MODEL, 8)
        for row_id, vector in old.VECTORS["summary"].items():
            [hit] = store.vector_search(Summary, vector, k=1)
            assert hit.document.doc_id == f"summary-{row_id - 1}"
            assert hit.score == pytest.approx(1.0)
        assert [d.doc_id for d in store.scan(Summary, {"embedding_model": None})] == ["summary-2"]
        [found] = store.vector_search(Fact, old.vector(4), k=5, where={"source_refs.session_id": "2026-03-02 c,d"})
        assert found.document.doc_id == "fact-1"


def test_an_upgraded_store_is_written_like_a_new_one(path: Path) -> None:
    with SqliteStore(path) as store:
        store.ensure_indices()
        summaries = list(store.scan(Summary))
        assert store.upsert(Summary, summaries) == BulkResult(unchanged=5)
        moved = summaries[3].model_copy(update={"source_refs": summaries[0].source_refs, "summary": "Moved."})
        assert store.upsert(Summary, [moved]) == BulkResult(written=1)
        assert store.count(Summary, {"source_refs.session_id": "2026-03-02 c,d"}) == 0
        assert store.keyword_search(Summary, ["cellar"], k=5) == []
        assert store.delete(Summary, {"source_refs.session_id": "2026-03-01_a-b"}) == 5
        assert store.keyword_search(Summary, ["orchard"], k=5) == []
        assert store.vector_search(Summary, old.vector(0), k=5) == []


def test_an_upgraded_file_has_the_tables_of_a_new_one(path: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh" / "memory.db"
    for file in (path, fresh):
        with SqliteStore(file) as store:
            store.ensure_indices()
    upgraded = {name: sql for name, sql in tables(path).items() if not name.endswith("-vectors")}
    assert upgraded == tables(fresh)
    assert version(path) == version(fresh) == VERSION


def test_the_upgrade_happens_once(path: Path) -> None:
    for _ in range(2):
        with SqliteStore(path) as store:
            store.ensure_indices()
        upgraded = path.read_bytes()
    with SqliteStore(path) as store:
        store.ensure_indices()
    assert path.read_bytes() == upgraded


def test_an_upgrade_that_fails_leaves_the_old_store_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_at_facts(connection: apsw.Connection, tier: Tier) -> None:
        migrations._add_keys(connection, tier)
        if tier.kind is Fact:
            connection.execute("SELECT no_such_function()")

    monkeypatch.setattr(migrations, "MIGRATIONS", (fails_at_facts,))
    before = tables(path)
    with SqliteStore(path) as store, pytest.raises(StoreError, match="no_such_function"):
        store.ensure_indices()
    assert tables(path) == before
    assert version(path) == 1
    monkeypatch.undo()
    with SqliteStore(path) as store:
        store.ensure_indices()
        assert store.count(Summary, {"source_refs.session_id": "2026-03-02 c,d"}) == 1


def test_two_processes_may_upgrade_at_once(path: Path) -> None:
    script = "store = SqliteStore(path)\nwait_for_go()\nstore.ensure_indices()\nstore.close()\n"
    processes = [start(script, path) for _ in range(3)]
    go(processes)
    for process in processes:
        finish(process)
    assert version(path) == VERSION
    with SqliteStore(path) as store:
        assert store.count(Meta) == 2


def test_tables_do_not_change_without_a_new_version(tmp_path: Path) -> None:
    """Fails where ``documents.py`` or the schema now make other tables than files of this version have.

    Then add a migration, raise VERSION, and only then write the new pair below.
    """
    with SqliteStore(tmp_path / "memory.db") as store:
        store.ensure_indices()
    layout = json.dumps(tables(tmp_path / "memory.db"), sort_keys=True).encode()
    assert (VERSION, hashlib.sha256(layout).hexdigest()[:16]) == (4, "98684bc9608f3643")
