"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_pipeline_tests.sessions.fuzz import SEED
from memory_pipeline_tests.support.missing import missing

pytest_plugins = [
    "memory_pipeline_tests.support.models",
    "memory_pipeline_tests.support.embedding_server",
    "memory_pipeline_tests.support.elasticsearch.fixtures",
]

PROJECT = Path(__file__).resolve().parent.parent


def pytest_report_header() -> str:
    return f"broken session files of SEED={SEED}"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of session files and labelled sets beside the project (``../shared/data``)."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        missing(f"the shared test data is not at {folder}")
    return folder


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's folder."""
    return PROJECT


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests see no settings, sessions or memories of the person who runs them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name in list(os.environ):
        if name.startswith(("MEMORY_", "LLAMA_", "ES_", "PI_CODING_AGENT", "DAGSTER_HOME")):
            monkeypatch.delenv(name)
