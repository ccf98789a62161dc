from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from memory_pipeline.redaction import Redactor
from memory_pipeline_tests.redaction.rules import shared_redactor
from memory_pipeline_tests.support.child import folder_for_all


@pytest.fixture(scope="session")
def redactor(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    return shared_redactor(tmp_path_factory)


@pytest.fixture
def as_someone() -> AbstractContextManager[None]:
    """Inside, this process has no more rights than an ordinary user; root reads whatever the permissions say."""
    return _without_root()


@contextmanager
def _without_root() -> Iterator[None]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that other users may enter, which pytest's own is not."""
    with folder_for_all() as folder:
        yield folder
