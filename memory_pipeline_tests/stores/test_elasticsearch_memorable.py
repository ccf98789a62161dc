"""The optional ingest pipeline: what it marks, that it changes nothing else, and that it can be taken away."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import RawMessage
from memory_pipeline.stores import BulkResult
from memory_pipeline.stores.elasticsearch import ElasticsearchStore, open_elasticsearch
from memory_pipeline.stores.elasticsearch.keys import open_admin
from memory_pipeline.stores.elasticsearch.mapping import MEMORABLE
from memory_pipeline.stores.elasticsearch.memorable import pipeline_name, switch_off, switch_on
from memory_pipeline_tests.conformance.samples import raw
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices

DECISION = raw(0, content="We decided on PostgreSQL 16 for the staging cluster.")
GERMAN = raw(1, content="Ab jetzt immer mit pnpm installieren, nie mit npm.", role="user")
CHAT = raw(2, content="Thanks, that looks good to me now.")
SHORT = raw(3, content="because", role="user")
OUTPUT = raw(4, content="fixed: 3 tests, because the fix was found", role="toolResult")


@pytest.fixture
def admin(elasticsearch_server: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_server) as client:
        yield client


@pytest.fixture
def store(elasticsearch_server: str, admin: Elasticsearch) -> Iterator[tuple[ElasticsearchStore, str]]:
    prefix = f"memorable-{uuid.uuid4().hex[:8]}"
    with open_elasticsearch(elasticsearch_server, None, prefix=prefix) as opened:
        opened.ensure_indices()
        yield opened, prefix
    drop_indices(admin, prefix)
    admin.options(ignore_status=404).ingest.delete_pipeline(id=pipeline_name(prefix))


def marked(admin: Elasticsearch, prefix: str) -> set[str]:
    admin.indices.refresh(index=f"{prefix}-raw")
    found = admin.search(index=f"{prefix}-raw", query={"term": {MEMORABLE: True}}, size=100)
    return {hit["_id"] for hit in found["hits"]["hits"]}


def test_it_marks_what_is_likely_memorable_and_changes_no_document(
    store: tuple[ElasticsearchStore, str], admin: Elasticsearch, elasticsearch_server: str
) -> None:
    opened, prefix = store
    server = open_admin(elasticsearch_server, None)
    opened.upsert(RawMessage, [DECISION, CHAT])
    opened.refresh()
    assert marked(admin, prefix) == set()
    assert switch_on(server, prefix) == 2
    messages = [DECISION, GERMAN, CHAT, SHORT, OUTPUT]
    assert opened.upsert(RawMessage, messages) == BulkResult(written=3, unchanged=2)
    assert marked(admin, prefix) == {DECISION.doc_id, GERMAN.doc_id}
    assert list(opened.scan(RawMessage)) == sorted(messages, key=lambda message: message.doc_id)
    assert opened.get(RawMessage, [GERMAN.doc_id]) == [GERMAN]
    assert opened.upsert(RawMessage, messages) == BulkResult(unchanged=5)
    opened._indices.rebuild(RawMessage, lambda source: source)
    later = raw(5, content="The root cause was the proxy's cache.")
    opened.upsert(RawMessage, [later])
    assert marked(admin, prefix) == {DECISION.doc_id, GERMAN.doc_id, later.doc_id}
    switch_off(server, prefix)
    opened.upsert(RawMessage, [raw(6, content="We decided to stop marking messages.")])
    assert len(marked(admin, prefix)) == 3
    server.close()
