"""The stores under test. A new store is added to FACTORIES and has to pass everything in this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory_pipeline.stores import MemoryStore
from memory_pipeline.stores.sqlite import SqliteStore

FACTORIES: dict[str, Callable[[Path], MemoryStore]] = {
    "sqlite": lambda folder: SqliteStore(folder / "data" / "memory.db"),
}
"""Name → function that opens an empty store, given a folder of the test's own."""


@pytest.fixture(params=sorted(FACTORIES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    with FACTORIES[request.param](tmp_path) as opened:
        opened.ensure_indices()
        yield opened
