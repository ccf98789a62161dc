"""The real model files, fetched once and kept between test runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_pipeline.errors import ModelFileError
from memory_pipeline.models.files import install
from memory_pipeline.models.installed import MINILM, SMOLLM2
from memory_pipeline_tests.support.missing import missing

# Read here, since tests run without the developer's variables.
_FOLDER = os.environ.get("MEMORY_TEST_MODELS")
_PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder with the embedding model and the small chat model: for ``MEMORY_MODELS_DIR`` or ``models_dir=``.

    It is ``$MEMORY_TEST_MODELS`` if that is set, else ``.cache/models`` in the project.
    """
    folder = Path(_FOLDER).expanduser() if _FOLDER else _PROJECT / ".cache" / "models"
    try:
        install(folder, (MINILM, SMOLLM2))
    except ModelFileError as error:
        missing(str(error))
    return folder
