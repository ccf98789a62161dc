"""The queries of docs/elasticsearch.md, each sent to the real server as it stands there."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import (
    DailyLog,
    DistillationState,
    Document,
    Entity,
    Fact,
    Header,
    Mentions,
    RawMessage,
    SessionFacts,
    SessionManifest,
    Summary,
    Turn,
)
from memory_pipeline.stores.elasticsearch import ElasticsearchStore, open_elasticsearch
from memory_pipeline.stores.elasticsearch.keys import open_admin
from memory_pipeline.stores.elasticsearch.memorable import pipeline_name, switch_on
from memory_pipeline_tests.conformance.samples import (
    MODEL,
    at_angle,
    daily_log,
    entity,
    fact,
    raw,
    refs,
    summary,
    turn,
)
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "elasticsearch.md"
_QUERY = re.compile(r"^GET memory-([a-z-]+)/_search\n(\{.*\})$", re.MULTILINE)
QUERIES = [(name, json.loads(body)) for name, body in _QUERY.findall(_DOCS.read_text())]
PROJECT = "/home/ann/src/app"
AT = "2026-05-04T10:11:12.345Z"


@pytest.fixture(scope="module")
def filled(elasticsearch_server: str) -> Iterator[str]:
    """A store with something in every tier that each query finds."""
    prefix = f"queries-{uuid.uuid4().hex[:8]}"
    with open_elasticsearch(elasticsearch_server, None, prefix=prefix) as store:
        store.ensure_indices()
        server = open_admin(elasticsearch_server, None)
        switch_on(server, prefix)
        _fill(store)
        yield prefix
        drop_indices(server.client, prefix)
        server.client.ingest.delete_pipeline(id=pipeline_name(prefix))
        server.close()


def _fill(store: ElasticsearchStore) -> None:
    message = raw(0, session_id="SESSION", content="We decided on PostgreSQL 16 as the database.")
    failed = DistillationState(state="outage", error="no answer")
    idea = summary("The staging database is on port 5433.", project=PROJECT)
    cited = idea.source_refs[0].model_copy(update={"doc_id": "MESSAGE"})
    mention = {"turn_id": "t", "turn_index": 0, "name": "PostgreSQL", "type": "thing", "description": "", "cites": []}
    named: dict[str, Any] = {"doc_id": "SESSION", "project": PROJECT, "source_refs": refs("SESSION", 0)}
    manifest = SessionManifest(
        doc_id="SESSION", path="/sessions/a.jsonl", format="pi", header=Header(), cwd=PROJECT, project=PROJECT,
        origin="laptop", started_at=AT, ended_at=AT, entries=3, messages=2, turns=1, branches=1, size=900, mtime_ns=1,
        content_sha256="0" * 64, reader_version="1", problem_count=2,
    )  # fmt: skip
    documents: list[Document] = [
        message,
        turn(0, distillation=failed),
        idea.model_copy(update={"source_refs": [cited], "summary_embedding": at_angle(0), "embedding_model": MODEL}),
        manifest,
        Mentions(mentions=[mention], **named),
        SessionFacts(facts=[], **named),
        entity("postgres"),
        fact("The database is PostgreSQL."),
        daily_log("a day", "2027-01-01T00:00:00.000Z"),
    ]
    for document in documents:
        assert store.upsert(type(document), [document]).refused == ()
    store.refresh()


@pytest.mark.parametrize(
    ("tier", "body"), QUERIES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(QUERIES)]
)
def test_a_query_of_the_docs_finds_what_it_is_for(
    tier: str, body: dict[str, Any], filled: str, elasticsearch_server: str
) -> None:
    with Elasticsearch(elasticsearch_server) as client:
        answer = client.search(index=f"{filled}-{tier}", **_as_arguments(body))
    if "aggs" in body:
        assert answer["aggregations"]["states"]["buckets"]
    else:
        assert answer["hits"]["hits"]


def _as_arguments(body: dict[str, Any]) -> dict[str, Any]:
    return {("source" if name == "_source" else name): value for name, value in body.items()}


def test_the_docs_have_a_query_for_each_tier() -> None:
    kinds = (RawMessage, Turn, Summary, SessionManifest, Mentions, SessionFacts, Entity, Fact, DailyLog)
    assert {kind.index for kind in kinds} | {"meta"} == {name for name, _ in QUERIES}
