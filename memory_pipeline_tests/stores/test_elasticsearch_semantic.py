"""Vectors that the cluster makes: real ``semantic_text`` fields on an inference endpoint that calls real llama.cpp.

A scripted service stands in only where the service has to fail, or where its requests are looked at.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import DailyLog, Entity, Fact, Summary
from memory_pipeline.errors import EmbeddingMismatch, KeyRefused, ModelOutage, ModelRefused, StoreError
from memory_pipeline.ingestion.copying import copy_store
from memory_pipeline.models import open_embedder
from memory_pipeline.models.contract import Embedder
from memory_pipeline.models.replies import Endpoint
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import BulkResult, Hit
from memory_pipeline.stores.elasticsearch import (
    ElasticsearchStore,
    SemanticStore,
    indices,
    mapping,
    open_elasticsearch,
    open_inference,
    search,
)
from memory_pipeline.stores.elasticsearch.inference import EndpointRequest, register
from memory_pipeline.stores.elasticsearch.keys import key_requests, make_key, open_admin
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, daily_log, entity, fact, summary
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.fixtures import Secured
from memory_pipeline_tests.support.scripted_server import Answer, Request, ScriptedServer, error, word_embeddings

EMBEDDINGS = "/v1/embeddings"
TEXTS = ["the staging database listens on port 5433", "roses are watered on Mondays", "the API is written in Rust"]


class Place:
    """A prefix and an endpoint of a test's own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"semantic-{uuid.uuid4().hex[:8]}"

    def register(self, service_url: str, key: str = "any", *, model: str = "all-MiniLM-L6-v2", name: str = "") -> None:
        server = open_admin(self.url, None)
        register(server, EndpointRequest(name or self.name, "openai", model, service_url), key)
        server.close()

    def store(self, inference_id: str | None = None) -> SemanticStore:
        opened = open_elasticsearch(self.url, None, prefix=self.name, inference_id=inference_id or self.name)
        assert isinstance(opened, SemanticStore)
        opened.ensure_indices()
        return opened

    def dense(self) -> ElasticsearchStore:
        opened = open_elasticsearch(self.url, None, prefix=self.name)
        opened.ensure_indices()
        return opened

    def embedder(self) -> Embedder:
        return open_inference(self.url, None, self.name)

    def embed(self, texts: list[str]) -> list[list[float]]:
        with closing(self.embedder()) as embedder:
            return embedder.embed(texts)


@pytest.fixture
def place(elasticsearch_server: str) -> Iterator[Place]:
    place = Place(elasticsearch_server)
    yield place
    with Elasticsearch(elasticsearch_server) as client:
        drop_indices(client, place.name)


@pytest.fixture
def service() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.always(EMBEDDINGS, word_embeddings())
        yield server


def texts_of(service: ScriptedServer) -> list[str]:
    """All that it was asked to embed, but for what the registration asks."""
    return [text for request in service.requests_for(EMBEDDINGS) for text in request.json()["input"]][1:]


def fill(store: SemanticStore, texts: list[str] = TEXTS, *, dimensions: int = 16) -> list[str]:
    documents = [summary(text) for text in texts]
    assert store.upsert(Summary, documents).refused == ()
    result = store.put_texts(
        Summary,
        {d.doc_id: d.summary for d in documents},
        model="all-MiniLM-L6-v2",
        dimensions=dimensions,
    )
    assert result == BulkResult(written=len(texts))
    return [document.doc_id for document in documents]


@pytest.mark.timeout(300)
def test_results_agree_with_vectors_computed_by_us(
    place: Place,
    embedding_server: Endpoint,
    models_dir: Path,
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = json.loads((shared_data / "evalset" / "labels.json").read_text())
    facts = [summary(fact["statement"]) for fact in labels["facts"]]
    queries = [query["query"] for query in labels["queries"]]
    place.register(embedding_server.url, embedding_server.api_key or "")
    settings = load_settings(env_file=None, models_dir=models_dir)
    with closing(open_embedder(settings)) as ours, closing(place.embedder()) as theirs, place.store() as made_there:
        assert theirs.dimensions == ours.dimensions == 384
        fill(made_there, [fact.summary for fact in facts], dimensions=384)
        vectors = ours.embed([fact.summary for fact in facts])
        asked, asked_there = ours.embed(queries), theirs.embed(queries)
        with SqliteStore(tmp_path / "memory.db") as sqlite:
            sqlite.ensure_indices()
            sqlite.upsert(Summary, facts)
            sqlite.put_vectors(Summary, dict(zip((f.doc_id for f in facts), vectors, strict=True)), model=ours.model)
            wanted = [ids_of(sqlite.vector_search(Summary, vector, k=10)) for vector in asked]
        exactly = [ids_of(made_there.vector_search(Summary, vector, k=10)) for vector in asked_there]
        monkeypatch.setattr(search, "EXACT_BELOW", 0)  # by the graph, as in a large index
        by_graph = [ids_of(made_there.vector_search(Summary, vector, k=10)) for vector in asked_there]
        assert len(queries) >= 100
        assert min(len(one & other) for one, other in zip(wanted, exactly, strict=True)) >= 9
        assert min(len(one & other) for one, other in zip(wanted, by_graph, strict=True)) >= 9
        [same] = made_there.vector_search(Summary, vectors[0], k=1)
        assert same.score == pytest.approx(1.0, abs=1e-3)


def ids_of(hits: list[Hit[Summary]]) -> set[str]:
    return {hit.document.doc_id for hit in hits}


def test_every_tier_with_vectors_takes_texts_and_is_found_by_both_arms(place: Place, service: ScriptedServer) -> None:
    place.register(service.url)
    documents = (summary("roses"), fact("roses"), entity("roses"), daily_log("roses", "2027-01-01T00:00:00.000Z"))
    with place.store() as store:
        near = place.embed(["roses"])[0]
        for document in documents:
            kind = cast("type[Summary]", type(document))
            store.upsert(kind, [cast("Summary", document)])
            store.put_texts(kind, {document.doc_id: "roses"}, model="all-MiniLM-L6-v2", dimensions=16)
            assert store.count(kind, {"embedding_model": None}) == 0
            [found] = store.candidates(kind, ["roses"], near, k=5, where={"doc_id": document.doc_id}).hits
            assert found.cosine == pytest.approx(1.0, abs=1e-3)
            assert found.keyword_score > 0
            assert store.vector_search(kind, near, k=5, where={"doc_id": "another"}) == []
        assert {type(document) for document in documents} == {Summary, Fact, Entity, DailyLog}


def test_a_changed_memory_is_embedded_anew_and_an_unchanged_one_is_not(place: Place, service: ScriptedServer) -> None:
    place.register(service.url)
    with place.store() as store:
        [doc_id, *_] = fill(store)
        asked = len(texts_of(service))
        assert store.upsert(Summary, [summary(text) for text in TEXTS]) == BulkResult(unchanged=3)
        assert store.put_texts(Summary, {doc_id: TEXTS[0]}, model="all-MiniLM-L6-v2", dimensions=16).unchanged == 1
        assert len(texts_of(service)) == asked
        changed = summary(TEXTS[0], tags=["database"], language="de")
        assert store.upsert(Summary, [changed]) == BulkResult(written=1)
        assert [document.doc_id for document in store.scan(Summary, {"embedding_model": None})] == [doc_id]
        assert len(store.vector_search(Summary, place.embed([TEXTS[0]])[0], k=5)) == 2
        assert store.put_texts(Summary, {doc_id: TEXTS[0]}, model="all-MiniLM-L6-v2", dimensions=16).written == 1
        [found] = store.get(Summary, [doc_id], vectors=True)
        assert (found.tags, found.embedding_model) == (["database"], "all-MiniLM-L6-v2")
        near = place.embed([TEXTS[0]])[0]
        assert store.vector_search(Summary, near, k=1)[0].score == pytest.approx(1.0, abs=1e-3)
        assert [d.summary_embedding is None for d in store.scan(Summary, vectors=True)] == [False] * 3
        assert [d.summary_embedding for d in store.scan(Summary)] == [None] * 3


def test_vectors_that_documents_bring_are_left_to_the_cluster(place: Place, service: ScriptedServer) -> None:
    place.register(service.url)
    with place.store() as store:
        brought = summary("roses", summary_embedding=at_angle(0), embedding_model=MODEL)
        assert store.upsert(Summary, [brought]) == BulkResult(written=1)
        assert store.count(Summary, {"embedding_model": None}) == 1
        with pytest.raises(EmbeddingMismatch, match="made by the inference endpoint"):
            store.put_vectors(Summary, {brought.doc_id: at_angle(0)}, model=MODEL)
        unknown = store.put_texts(Summary, {"nobody": "text"}, model="m", dimensions=16)
        assert [(refused.doc_id, refused.field) for refused in unknown.refused] == [("nobody", "doc_id")]
        with pytest.raises(EmbeddingMismatch, match="reembed"):
            store.put_texts(Summary, {brought.doc_id: "roses"}, model="another", dimensions=16)


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (error("boom", 500), ModelOutage, "can't reach the service behind it, or that is busy"),
        (error("boom", 429), ModelOutage, "busy"),
        (error("boom", 401), KeyRefused, "does not accept its key"),
        (error("boom", 400), ModelRefused, "refused a text"),
    ],
)
@pytest.mark.timeout(300)
def test_a_service_that_fails_costs_no_memory_and_is_told_in_one_sentence(
    place: Place, service: ScriptedServer, answer: Answer, kind: type[Exception], said: str
) -> None:
    place.register(service.url)
    documents = [summary(text) for text in TEXTS]
    texts = {document.doc_id: document.summary for document in documents}
    with place.store() as store:
        store.upsert(Summary, documents)
        service.always(EMBEDDINGS, answer)
        with pytest.raises(kind, match=said) as raised:
            store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16)
        assert place.name in str(raised.value)
        assert "boom" not in str(raised.value)
        with pytest.raises(kind, match=said):
            place.embed(["roses"])
        assert len(store.keyword_search(Summary, ["roses", "database", "rust"], k=5)) == 3
        assert store.count(Summary, {"embedding_model": None}) == 3
        service.always(EMBEDDINGS, word_embeddings())
        assert store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16).written == 3


def test_a_text_that_the_model_can_not_take_is_cut_and_harms_no_other(place: Place, service: ScriptedServer) -> None:
    embed = word_embeddings()

    def takes_100_characters(request: Request) -> Answer:
        too_long = any(len(text) > 100 for text in request.json()["input"])
        return error("input is too large", 400) if too_long else embed(request)

    place.register(service.url)
    service.always(EMBEDDINGS, takes_100_characters)
    long = "the pump of the greenhouse " * 12
    with place.store() as store:
        documents = [summary(text) for text in [*TEXTS, long]]
        store.upsert(Summary, documents)
        texts = {document.doc_id: document.summary for document in documents}
        result = store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16)
        assert (result.written, result.refused) == (4, ())
        [nearest, *_] = store.vector_search(Summary, place.embed(["pump greenhouse"])[0], k=2)
        assert nearest.document.summary == long
        assert store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16).unchanged == 4


def test_a_missing_endpoint_is_named_with_the_remedy(place: Place) -> None:
    with place.store() as store:
        store.upsert(Summary, [summary("roses")])
        with pytest.raises(ModelRefused, match=f"no inference endpoint {place.name} .*es setup --endpoint"):
            store.put_texts(Summary, {summary("roses").doc_id: "roses"}, model="m", dimensions=16)
    with pytest.raises(ModelRefused, match=f"no inference endpoint {place.name} "):
        place.embed(["roses"])


@pytest.mark.timeout(300)
def test_moving_between_vectors_of_ours_and_of_the_cluster_is_said_and_loses_nothing(
    place: Place, service: ScriptedServer
) -> None:
    place.register(service.url)
    with place.dense() as store:
        store.upsert(Summary, [summary("roses")])
        store.put_vectors(Summary, {summary("roses").doc_id: at_angle(0, 16)}, model="all-MiniLM-L6-v2")
    texts = {summary("roses").doc_id: "roses"}
    with place.store() as store:
        with pytest.raises(EmbeddingMismatch, match=r"made outside of Elasticsearch.*endpoint semantic.*--reembed"):
            store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16)
        assert store.upsert(Summary, [summary("pears")]).written == 1  # memories are stored all the same
        assert store.delete(Summary, {"doc_id": summary("pears").doc_id}) == 1
        assert store.drop_vectors(Summary) == 1
        assert store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16).written == 1
        assert len(store.vector_search(Summary, place.embed(["roses"])[0], k=2)) == 1
    with place.dense() as store:
        with pytest.raises(EmbeddingMismatch, match=r"endpoint semantic.*made outside of Elasticsearch.*--reembed"):
            store.put_vectors(Summary, {summary("roses").doc_id: at_angle(0, 16)}, model="all-MiniLM-L6-v2")
        brought = summary("pears", summary_embedding=at_angle(0, 16), embedding_model="all-MiniLM-L6-v2")
        [refused] = store.upsert(Summary, [brought]).refused
        assert (refused.doc_id, refused.field) == (brought.doc_id, "summary_embedding")
        assert store.drop_vectors(Summary) == 1
        assert store.put_vectors(Summary, {summary("roses").doc_id: at_angle(0)}, model=MODEL).written == 1
        assert list(store.scan(Summary)) == [summary("roses", embedding_model=MODEL)]
    other = f"{place.name}-other"
    place.register(service.url, name=other)
    with place.store(other) as store, pytest.raises(EmbeddingMismatch):
        store.put_texts(Summary, texts, model="all-MiniLM-L6-v2", dimensions=16)


def test_a_migration_takes_the_vectors_along_without_the_service(
    place: Place, service: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.register(service.url)
    now = mapping.properties

    def then(kind: type) -> dict[str, object]:
        return dict(now(kind)) | ({"project": {"type": "text"}} if kind is Summary else {})

    near = place.embed([TEXTS[1]])[0]
    with monkeypatch.context() as patched:
        patched.setattr(indices, "properties", cast("Callable[[type], dict[str, object]]", then))
        with place.store() as store:
            fill(store)
            before = list(store.scan(Summary, vectors=True))
            assert all(document.summary_embedding for document in before)
    asked = len(texts_of(service))
    service.always(EMBEDDINGS, error("boom", 500))
    with cast(
        "SemanticStore", open_elasticsearch(place.url, None, prefix=place.name, inference_id=place.name)
    ) as store:
        store.migrate(lambda alias: None)
        store.ensure_indices()
        assert list(store.scan(Summary, vectors=True)) == before
        assert store.vector_search(Summary, near, k=1)[0].document.summary == TEXTS[1]
        assert store.upsert(Summary, [summary(TEXTS[0], tags=["moved"])]).written == 1
    assert len(texts_of(service)) == asked


def test_a_copy_takes_vectors_out_and_lets_the_cluster_make_its_own(
    place: Place, service: ScriptedServer, tmp_path: Path
) -> None:
    place.register(service.url)
    with place.store() as there, SqliteStore(tmp_path / "a.db") as here, SqliteStore(tmp_path / "b.db") as last:
        here.ensure_indices()
        last.ensure_indices()
        here.upsert(Summary, [summary("pears", summary_embedding=at_angle(0), embedding_model=MODEL)])
        assert all(copied.is_equal for copied in copy_store(here, there, lambda number: None))
        assert there.count(Summary, {"embedding_model": None}) == 1
        there.put_texts(Summary, {summary("pears").doc_id: "pears"}, model="all-MiniLM-L6-v2", dimensions=16)
        assert all(copied.is_equal for copied in copy_store(there, last, lambda number: None))
        [found] = last.scan(Summary, vectors=True)
        assert found.embedding_model == "all-MiniLM-L6-v2"
        assert last.vector_search(Summary, place.embed(["pears"])[0], k=1)[0].score == pytest.approx(1.0, abs=1e-3)


def test_the_keys_that_setup_makes_may_embed_by_the_endpoint(
    secured_elasticsearch: Secured, service: ScriptedServer
) -> None:
    admin = f"elastic:{secured_elasticsearch.password}"
    name = f"semantic-{uuid.uuid4().hex[:8]}"
    server = open_admin(secured_elasticsearch.url, admin)
    assert register(server, EndpointRequest(name, "openai", "all-MiniLM-L6-v2", service.url), "key") == 16
    writer, reader = (make_key(request, secured_elasticsearch.url, admin) for request in key_requests(name))
    with open_elasticsearch(secured_elasticsearch.url, writer, prefix=name, inference_id=name) as store:
        store.ensure_indices()
        fill(cast("SemanticStore", store))
    embedder = open_inference(secured_elasticsearch.url, reader, name)
    with closing(embedder), open_elasticsearch(secured_elasticsearch.url, reader, prefix=name) as store:
        [nearest, *_] = store.vector_search(Summary, embedder.embed([TEXTS[2]])[0], k=3)
        assert nearest.document.summary == TEXTS[2]
    with pytest.raises(StoreError, match="needs the right manage_inference"):
        register(
            open_admin(secured_elasticsearch.url, None, writer),
            EndpointRequest(f"{name}-2", "openai", "m", service.url),
            "key",
        )
    drop_indices(server.client, name)
    server.close()


def test_an_endpoint_is_registered_once_and_never_changed_under_its_name(place: Place, service: ScriptedServer) -> None:
    place.register(service.url)
    place.register(service.url)
    with pytest.raises(StoreError, match=f"inference endpoint {place.name} .*already.*ES_INFERENCE_ID"):
        place.register(service.url, model="another")
    with pytest.raises(StoreError, match="could not embed a text with openai"):
        place.register("http://127.0.0.1:1", name=f"{place.name}-nobody")
    with Elasticsearch(place.url) as client:
        settings = client.inference.get(inference_id=place.name)["endpoints"][0]["service_settings"]
    assert (settings["similarity"], settings["url"]) == ("cosine", f"{service.url}{EMBEDDINGS}")


def test_jina_is_asked_for_its_clustering_model_with_the_key(place: Place, service: ScriptedServer) -> None:
    """Only what Elasticsearch sends is looked at: Jina's own host is out of reach of a test."""
    model = "jina-embeddings-v5-text-small-clustering"
    server = open_admin(place.url, None)
    assert register(server, EndpointRequest(place.name, "jinaai", model, service.url), "jina-key") == 16
    server.close()
    place.embed(["a query"])
    registered, query = service.requests_for(EMBEDDINGS)
    assert registered.headers["authorization"] == "Bearer jina-key"
    assert (registered.json()["model"], query.json()["model"]) == (model, model)
    assert query.json()["input"] == ["a query"]
    elastic = EndpointRequest(place.name, "elastic", "jina-embeddings-v5-text-small").body(None)
    assert elastic == {"service": "elastic", "service_settings": {"model_id": "jina-embeddings-v5-text-small"}}
