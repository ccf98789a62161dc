"""Opening the store that the settings name."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.documents import RawMessage
from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store, store_exists
from memory_pipeline_tests.conformance.samples import raw


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(env_file=None, data_dir=tmp_path / "data")


def test_the_store_is_made_ready_in_a_private_folder(settings: Settings) -> None:
    with open_store(settings) as store:
        store.upsert(RawMessage, [raw(0)])
        assert store.location == str(settings.data_dir / "memory.db")
    assert settings.data_dir.stat().st_mode & 0o777 == 0o700
    with open_store(settings) as store:
        assert store.count(RawMessage) == 1


def test_asking_whether_a_store_exists_makes_none(settings: Settings) -> None:
    assert not store_exists(settings)
    assert not settings.data_dir.exists()
    open_store(settings).close()
    assert store_exists(settings)


def test_an_empty_file_is_no_store_yet(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.store_path.touch()
    assert not store_exists(settings)


def test_the_index_prefix_names_file_and_tables(tmp_path: Path) -> None:
    team = load_settings(env_file=None, data_dir=tmp_path, index_prefix="team-a_1")
    with open_store(team) as store:
        store.upsert(RawMessage, [raw(0)])
        assert len(store.keyword_search(RawMessage, ["message"], k=1)) == 1
    assert (tmp_path / "team-a_1.db").exists()
    assert not store_exists(load_settings(env_file=None, data_dir=tmp_path))


def test_elasticsearch_without_a_server_named_is_one_sentence(tmp_path: Path) -> None:
    settings = load_settings(env_file=None, data_dir=tmp_path / "data", store="elasticsearch")
    for ask in (open_store, store_exists):
        with pytest.raises(StoreError, match="set ES_URL"):
            ask(settings)
    assert not settings.data_dir.exists()


def test_sqlite_can_be_chosen_beside_a_server(tmp_path: Path) -> None:
    settings = load_settings(env_file=None, data_dir=tmp_path / "data", es_url="http://localhost:9200", store="sqlite")
    with open_store(settings) as store:
        assert store.location == settings.store_place == str(settings.store_path)


def test_elasticsearch_is_opened_where_a_server_is_named(elasticsearch_server: str, tmp_path: Path) -> None:
    address = elasticsearch_server.replace("http://", "http://ann:pass@")
    settings = load_settings(env_file=None, data_dir=tmp_path / "data", es_url=address, index_prefix="opened")
    assert not store_exists(settings)
    with open_store(settings) as store:
        assert store.location == settings.store_place == elasticsearch_server
        store.upsert(RawMessage, [raw(0)])
    assert store_exists(settings)
    with open_store(settings) as store:
        assert store.count(RawMessage) == 1
        assert store.delete(RawMessage, {"role": "user"}) == 1
    assert not settings.data_dir.exists()


def test_a_data_folder_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = load_settings(env_file=None, data_dir=tmp_path / "file")
    with pytest.raises(InputError, match="MEMORY_DATA_DIR"):
        open_store(settings)
    with pytest.raises(StoreError, match="MEMORY_DATA_DIR"):
        store_exists(settings)


def test_a_store_that_cannot_be_made_ready_is_closed_again(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.store_path.write_text("no database" * 100)
    with pytest.raises(StoreError, match="not a SQLite file"):
        open_store(settings)
    assert [file.name for file in settings.data_dir.iterdir()] == ["memory.db"]
