"""A Dagster home with settings of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_pipeline.orchestration.home import open_instance
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.orchestration.workplace import Workplace
from memory_pipeline_tests.redaction.rules import cache_folder, shared_redactor
from memory_pipeline_tests.support.scripted_server import ScriptedServer, models, word_embeddings


@pytest.fixture(scope="session")
def empty_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with compiled rules and Dagster's empty databases, to copy: making them takes most of a second."""
    shared_redactor(tmp_path_factory).redact("compile the rules")
    data = tmp_path_factory.mktemp("empty") / "data"
    shutil.copytree(cache_folder(tmp_path_factory), data / "redaction")
    data.chmod(0o700)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MEMORY_DATA_DIR", str(data))
        environment.setenv("DAGSTER_HOME", str(data / "dagster"))
        with open_instance(load_settings(env_file=None)) as instance:
            instance.get_runs()
    return data


@pytest.fixture
def workplace(tmp_path: Path, empty_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    data, sessions = tmp_path / "data", tmp_path / "sessions"
    shutil.copytree(empty_data, data)
    sessions.mkdir()
    monkeypatch.setenv("MEMORY_DATA_DIR", str(data))
    monkeypatch.setenv("MEMORY_SESSIONS_DIR", str(sessions))
    with open_instance(load_settings()) as instance:
        yield Workplace(instance, sessions)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """Embeds for the workplace, which otherwise extracts; the second try of what it refused comes at once."""
    monkeypatch.setattr("memory_pipeline.orchestration.reporting.RETRY_SECONDS", 0)
    with ScriptedServer() as running:
        running.always("/v1/models", models("words"))
        running.always("/v1/embeddings", word_embeddings())
        monkeypatch.setenv("MEMORY_EMBEDDINGS", "llama")
        monkeypatch.setenv("MEMORY_EMBEDDINGS_URL", running.url)
        yield running
