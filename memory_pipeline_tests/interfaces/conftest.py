"""The command line in a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline_tests.redaction.rules import cache_folder, shared_redactor
from memory_pipeline_tests.support.command import CommandLine


@pytest.fixture(scope="session")
def compiled_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shared_redactor(tmp_path_factory).redact("compile them")
    return cache_folder(tmp_path_factory)


@pytest.fixture
def command(tmp_path: Path, models_dir: Path, compiled_rules: Path) -> CommandLine:
    return CommandLine(tmp_path / "home", models=models_dir, rules=compiled_rules)
