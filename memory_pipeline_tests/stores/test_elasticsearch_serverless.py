"""Nothing is asked of a cluster that Serverless refuses: its refusals are scripted, all else is a real server's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx
import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import DailyLog, Entity, Fact, Meta, RawMessage, Summary
from memory_pipeline.stores import BulkResult, Range
from memory_pipeline.stores.elasticsearch import ElasticsearchStore, open_elasticsearch
from memory_pipeline_tests.conformance.samples import (
    MODEL,
    at_angle,
    daily_log,
    entity,
    fact,
    meta,
    raw,
    summary,
)
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.serverless import Serverless, serverless


@pytest.fixture
def project(elasticsearch_server: str) -> Iterator[Serverless]:
    with serverless(elasticsearch_server) as running:
        yield running


@pytest.fixture
def prefix(elasticsearch_server: str) -> Iterator[str]:
    name = f"serverless-{uuid.uuid4().hex[:8]}"
    yield name
    with Elasticsearch(elasticsearch_server) as client:
        drop_indices(client, name)


def opened(project: Serverless, prefix: str) -> ElasticsearchStore:
    store = open_elasticsearch(project.url, None, prefix=prefix)
    store.ensure_indices()
    return store


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/_cluster/health", None, 410),
        ("GET", "/_cat/indices", None, 410),
        ("PUT", "/_ilm/policy/p", {}, 410),
        ("POST", "/refused/_forcemerge", None, 410),
        ("POST", "/refused/_search?scroll=1m", {}, 400),
        ("PUT", "/refused", {"settings": {"number_of_shards": 1}}, 400),
        ("PUT", "/refused", {"settings": {"index": {"number_of_replicas": 0}}}, 400),
        ("PUT", "/refused", {"settings": {"index.refresh_interval": "1s"}}, 400),
        ("PUT", "/refused/_settings", {"index.refresh_interval": "500ms"}, 400),
    ],
)
def test_the_script_refuses_as_serverless_does(
    project: Serverless, method: str, path: str, body: object, status: int
) -> None:
    answer = httpx.request(method, f"{project.url}{path}", json=body)
    assert answer.status_code == status
    assert len(project.refused) == 1


@pytest.mark.timeout(300)
def test_everything_that_a_store_does_is_taken(project: Serverless, prefix: str) -> None:
    ideas = [summary(f"idea {number}") for number in range(3)]
    with opened(project, prefix) as store:
        assert store.upsert(RawMessage, [raw(number) for number in range(120)]) == BulkResult(written=120)
        assert store.upsert(Summary, [*ideas, summary("Der Gärtner gießt täglich die Rosen im Garten.")]).written == 4
        vectors = {idea.doc_id: at_angle(20 * number) for number, idea in enumerate(ideas)}
        assert store.put_vectors(Summary, vectors, model=MODEL).written == 3
        assert store.upsert(Summary, [summary("idea 0", tags=["new"])]) == BulkResult(written=1)
        assert store.put_vectors(Summary, vectors, model=MODEL) == BulkResult(unchanged=3)
        store.upsert(Fact, [fact("Roses are red.", embedding=at_angle(5), embedding_model=MODEL)])
        store.upsert(Entity, [entity("rose")])
        store.upsert(Meta, [meta("note", a=1)])
        assert [hit.document.doc_id for hit in store.vector_search(Summary, at_angle(20), k=1)] == [ideas[1].doc_id]
        assert len(store.candidates(Summary, ["idea"], at_angle(0), k=5).hits) == 3
        assert len(store.keyword_search(Summary, ["Rosen"], k=5)) == 1
        assert len(list(store.scan(RawMessage, {"session_id": "session-1"}, order=("message_index",)))) == 120
        assert store.group_count(Summary, "tags") == {"garden": 3, "new": 1}
        assert store.count(Summary, {"embedding_model": Range()}) == 3
        assert store.delete(RawMessage, {"message_index": Range(gte=100)}) == 20
        store.upsert(
            DailyLog, [daily_log("old", "2026-01-01T00:00:00.000Z"), daily_log("new", "2026-03-01T00:00:00.000Z")]
        )
        assert store.expire("2026-02-01T00:00:00.000Z") == 1
        assert [log.text for log in store.scan(DailyLog)] == ["new"]
    assert project.refused == []


@pytest.mark.timeout(300)
def test_vectors_are_kept_where_the_server_leaves_them_out_of_documents(project: Serverless, prefix: str) -> None:
    with opened(project, prefix) as store:
        document = summary("idea", summary_embedding=at_angle(10), embedding_model=MODEL)
        store.upsert(Summary, [document])
        [read] = store.scan(Summary, vectors=True)
        assert read.summary_embedding == pytest.approx(at_angle(10))
        [again] = store.get(Summary, [document.doc_id], vectors=True)
        assert again == read
        store._indices.rebuild(Summary, lambda source: source, 4)
        assert list(store.scan(Summary, vectors=True)) == [read]
        assert len(store.vector_search(Summary, at_angle(10), k=1)) == 1
        assert store.drop_vectors(Summary) == 1
        assert store.put_vectors(Summary, {document.doc_id: at_angle(0, 8)}, model="other").written == 1
    assert project.refused == []
