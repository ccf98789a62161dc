"""What the tests of models share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_pipeline_tests.support.scripted_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running
