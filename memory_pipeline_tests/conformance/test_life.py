"""Opening and closing."""

from __future__ import annotations

from memory_pipeline.documents import DOCUMENTS, RawMessage
from memory_pipeline.stores import MemoryStore
from memory_pipeline_tests.conformance.samples import raw


def test_ensuring_twice_loses_nothing(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    store.ensure_indices()
    assert list(store.scan(RawMessage)) == [raw(0)]


def test_every_tier_is_there(store: MemoryStore) -> None:
    assert [store.count(kind) for kind in DOCUMENTS] == [0] * len(DOCUMENTS)


def test_what_was_written_is_seen_after_a_refresh(store: MemoryStore) -> None:
    store.upsert(RawMessage, [raw(0)])
    store.refresh()
    assert store.count(RawMessage) == 1


def test_the_location_is_told(store: MemoryStore) -> None:
    assert store.location


def test_closing_twice_is_no_error(store: MemoryStore) -> None:
    store.close()
    store.close()
