from __future__ import annotations

import pytest

from memory_pipeline.redaction import Redactor
from memory_pipeline_tests.redaction.rules import shared_redactor


@pytest.fixture(scope="session")
def redactor(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    return shared_redactor(tmp_path_factory)
