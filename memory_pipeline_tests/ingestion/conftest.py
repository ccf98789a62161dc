"""A store, and what reads a session file into it step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_pipeline.redaction import Redactor
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.redaction.rules import shared_redactor


@pytest.fixture(scope="session")
def redactor(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    return shared_redactor(tmp_path_factory)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(env_file=None, data_dir=tmp_path / "data", sessions_dir=tmp_path / "sessions")


@pytest.fixture
def store(settings: Settings) -> Iterator[MemoryStore]:
    with open_store(settings) as opened:
        yield opened


@pytest.fixture
def index(settings: Settings, store: MemoryStore, redactor: Redactor) -> Indexer:
    return Indexer(settings, store, redactor)


@pytest.fixture
def distil(index: Indexer, store: MemoryStore) -> Distiller:
    return Distiller(index, store)
