"""Where tests keep the compiled rules: compiling takes seconds, so all rooms and test processes share one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.redaction import Redactor

KEY = bytes(range(32))


def shared_redactor(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    return Redactor(cache_folder(tmp_path_factory), KEY)


def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp().parent / "secret-rules"
