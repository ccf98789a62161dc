"""A real llama.cpp server for embeddings on loopback, for what calls it by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_pipeline.models.embedded import EmbeddedServer
from memory_pipeline.models.replies import Endpoint


@pytest.fixture(scope="session")
def embedding_server(models_dir: Path) -> Iterator[Endpoint]:
    """Address and key of a server with the embedding model."""
    gguf = models_dir / "all-MiniLM-L6-v2.gguf"
    with closing(EmbeddedServer(gguf, "embeddings", context=512, remedy="fetch it again")) as server:
        yield server.endpoint()
