"""Whatever is wrong with the file, its place or its rights: one clear sentence, and nothing is harmed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import sqlite_vec

from memory_pipeline.documents import RawMessage
from memory_pipeline.errors import StoreError
from memory_pipeline.stores.sqlite import SqliteStore, connection
from memory_pipeline_tests.conformance.samples import raw
from memory_pipeline_tests.stores.processes import finish, run, sentence_of, start

FILLED = """
store = SqliteStore(path)
store.ensure_indices()
store.upsert(RawMessage, [raw(n) for n in range(300)])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def filled(path: Path) -> Path:
    with SqliteStore(path) as store:
        store.ensure_indices()
        store.upsert(RawMessage, [raw(n) for n in range(300)])
    return path


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that other users can get to, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def use(path: Path) -> None:
    with SqliteStore(path) as store:
        store.ensure_indices()
        store.upsert(RawMessage, [raw(n, content="new text") for n in range(300)])


def error_of(path: Path) -> str:
    with pytest.raises(StoreError) as caught:
        use(path)
    return str(caught.value)


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.write_text("dear diary\n" * 500)
    assert "is not a SQLite file; move it away" in error_of(path)
    assert path.read_text() == "dear diary\n" * 500


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE bookmarks (url); INSERT INTO bookmarks VALUES ('x')")
    other.close()
    before = path.read_bytes()
    assert "is a SQLite file of another program; move it away" in error_of(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


@pytest.mark.parametrize("pragma", ["application_id = 77", "user_version = 3"])
def test_an_empty_database_of_another_program_is_left_alone(path: Path, pragma: str) -> None:
    other = apsw.Connection(str(path))
    other.execute(f"PRAGMA {pragma}")
    other.close()
    assert "another program" in error_of(path)


def test_a_newer_schema_is_left_alone(filled: Path) -> None:
    other = apsw.Connection(str(filled))
    other.execute("PRAGMA user_version = 99")
    other.close()
    sentence = error_of(filled)
    assert "written by a newer memory-pipeline (schema 99" in sentence
    assert "update memory-pipeline" in sentence


def test_another_prefix_is_told_not_mixed(filled: Path) -> None:
    with pytest.raises(StoreError, match=r"another index prefix than team.*MEMORY_INDEX_PREFIX"):
        SqliteStore(filled, prefix="team")


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.02])
def test_a_file_cut_short_is_damaged(filled: Path, kept: float) -> None:
    whole = filled.read_bytes()
    filled.write_bytes(whole[: int(len(whole) * kept)])
    assert "is damaged; restore it from a copy" in error_of(filled)


def test_garbage_inside_is_damage(filled: Path) -> None:
    whole = bytearray(filled.read_bytes())
    for start_of_page in range(4096, len(whole), 4096):
        whole[start_of_page : start_of_page + 64] = b"\xaa" * 64
    filled.write_bytes(whole)
    assert "is damaged" in error_of(filled)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "is a folder, where a file is needed" in error_of(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "can't be opened" in error_of(tmp_path / "file" / "memory.db")


def test_without_the_right_to_the_folder_it_says_so(public_folder: Path) -> None:
    closed = public_folder / "closed"
    closed.mkdir(mode=0o700)
    run(FILLED, closed / "memory.db")
    script = "become_nobody()\nstore = SqliteStore(path)\n"
    closed.chmod(0o000)
    assert sentence_of(script, closed / "memory.db").startswith("StoreError ")
    closed.chmod(0o555)
    assert "can't be opened (Permission denied); check" in sentence_of(script, closed / "new.db")
    assert "can't be opened (Permission denied); check" in sentence_of(script, closed / "new" / "new.db")


def test_a_read_only_file_is_told_at_the_first_write(public_folder: Path) -> None:
    path = public_folder / "memory.db"
    run(FILLED, path)
    path.chmod(0o444)
    sentence = sentence_of(
        """
        become_nobody()
        store = SqliteStore(path)
        store.ensure_indices()
        assert store.count(RawMessage) == 300
        store.upsert(RawMessage, [raw(1000)])
        """,
        path,
    )
    assert "is read-only; give yourself the right" in sentence


def test_a_file_that_may_not_grow_is_told_and_nothing_is_lost(filled: Path) -> None:
    sentence = sentence_of(
        """
        import resource
        store = SqliteStore(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        store.upsert(RawMessage, [raw(n, content="long text " * 500) for n in range(1000, 2000)])
        """,
        filled,
    )
    assert "can't be read or written" in sentence
    assert "free space" in sentence
    with SqliteStore(filled) as store:
        assert store.count(RawMessage) == 300


def test_a_full_disk_is_told_and_nothing_is_lost(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        apsw, "connection_hooks", [*apsw.connection_hooks, lambda db: db.execute("PRAGMA max_page_count = 110")]
    )
    with SqliteStore(filled) as store:
        with pytest.raises(StoreError, match="the disk is full; free some space"):
            store.upsert(RawMessage, [raw(n, content="long text " * 500) for n in range(1000, 2000)])
        assert store.count(RawMessage) == 300
        assert store.upsert(RawMessage, [raw(0)]).unchanged == 1


def test_a_file_locked_for_too_long_is_told(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 200)
    holder = start(
        """
        import apsw
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        print("locked", flush=True)
        sys.stdin.readline()
        """,
        filled,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    assert "is locked by another process; let that finish" in error_of(filled)
    with SqliteStore(filled) as store:
        assert store.count(RawMessage) == 300  # reading goes on
    finish(holder)
    use(filled)


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.ensure_indices()
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.count(RawMessage)


def test_text_that_is_not_unicode_is_told(filled: Path) -> None:
    with SqliteStore(filled) as store, pytest.raises(StoreError, match="not valid Unicode"):
        store.count(RawMessage, {"role": "\ud800"})


def test_a_document_of_another_version_is_told_by_name(filled: Path) -> None:
    other = apsw.Connection(str(filled))
    other.execute("""UPDATE "memory-raw" SET body = json_set(body, '$.mood', 'fine') WHERE id = 7""")
    other.close()
    with (
        SqliteStore(filled) as store,
        pytest.raises(StoreError, match=r"session-1_session-1_0_6 of raw .*\(field mood\)"),
    ):
        list(store.scan(RawMessage))


def test_a_missing_extension_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_vec, "loadable_path", lambda: str(path.parent / "nowhere" / "vec0"))
    assert "sqlite-vec at" in error_of(path)
    assert "reinstall the package sqlite-vec" in error_of(path)


class LoadsNothing(apsw.Connection):
    def load_extension(self, filename: str, entrypoint: str | None = None) -> None:
        pass


def test_an_extension_that_brings_no_functions_is_one_sentence() -> None:
    with pytest.raises(StoreError, match=r"no such function: vec_version.*reinstall the package sqlite-vec"):
        connection.load_extensions(LoadsNothing(":memory:"))
