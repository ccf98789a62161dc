"""Keys with few rights: what each may do, and what it is told where it may not."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from elasticsearch import ApiError, Elasticsearch

from memory_pipeline.documents import RawMessage, Summary
from memory_pipeline.errors import StoreError
from memory_pipeline.stores.elasticsearch import open_elasticsearch
from memory_pipeline.stores.elasticsearch.inference import EndpointRequest, register
from memory_pipeline.stores.elasticsearch.keys import key_requests, make_key, open_admin
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, raw, summary
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.fixtures import Secured
from memory_pipeline_tests.support.elasticsearch.server import ElasticsearchServer

ROSES, ORCHARD = "/home/kim/work/roses", "/home/kim/work/orchard"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that ``es setup`` makes, for a prefix of the test's own."""

    url: str
    prefix: str
    writer: str
    reader: str
    roses: str


@pytest.fixture(scope="module")
def keys(secured_elasticsearch: Secured) -> Iterator[Keys]:
    prefix = f"keys-{uuid.uuid4().hex[:8]}"
    admin = f"elastic:{secured_elasticsearch.password}"
    made = [make_key(request, secured_elasticsearch.url, admin) for request in key_requests(prefix, ROSES)]
    yield Keys(secured_elasticsearch.url, prefix, *made)
    with Elasticsearch(secured_elasticsearch.url, basic_auth=("elastic", secured_elasticsearch.password)) as client:
        drop_indices(client, prefix)


@pytest.fixture(scope="module")
def filled(keys: Keys) -> Keys:
    """Everything that writing is, with the key that writes."""
    with open_elasticsearch(keys.url, keys.writer, prefix=keys.prefix) as store:
        store.ensure_indices()
        store.upsert(Summary, [summary("roses", project=ROSES), summary("pears", project=ORCHARD)])
        store.upsert(Summary, [summary("Der Gärtner gießt täglich die Rosen im Garten.", project=ROSES, language="de")])
        store.put_vectors(Summary, {summary("roses").doc_id: at_angle(0)}, model=MODEL)
        assert store.drop_vectors(Summary) == 1
        store.put_vectors(Summary, {summary("roses").doc_id: at_angle(0, 8)}, model="other")
        store.upsert(RawMessage, [raw(0)])
        assert store.delete(RawMessage, {"role": "user"}) == 1
        store.expire("2026-01-01T00:00:00.000Z")
    return keys


def test_the_key_that_writes_may_do_nothing_else(filled: Keys) -> None:
    with Elasticsearch(filled.url, api_key=filled.writer) as client:
        forbidden_to_it: list[Callable[[], object]] = [
            client.info,
            client.cluster.health,
            lambda: client.indices.create(index=f"outside-{filled.prefix}"),
            lambda: client.search(index="other-index"),
            client.security.get_user,
        ]
        for forbidden in forbidden_to_it:
            with pytest.raises(ApiError) as raised:
                forbidden()
            assert raised.value.status_code == 403


def test_the_key_that_reads_reads_and_is_told_that_it_may_not_write(filled: Keys) -> None:
    with open_elasticsearch(filled.url, filled.reader, prefix=filled.prefix) as store:
        store.ensure_indices()
        assert store.count(Summary) == 3
        assert len(store.vector_search(Summary, at_angle(0, 8), k=5)) == 1
        assert {hit.document.summary for hit in store.candidates(Summary, ["roses"], None, k=5).hits} >= {"roses"}
        assert store.group_count(Summary, "project") == {ROSES: 2, ORCHARD: 1}
        for write in (
            lambda: store.upsert(Summary, [summary("more")]),
            lambda: store.delete(Summary, {"project": ROSES}),
            lambda: store.drop_vectors(Summary),
        ):
            with pytest.raises(StoreError, match=r"ES_API_KEY may not do this.*es setup"):
                write()
        assert store.count(Summary) == 3


def test_the_key_of_a_project_sees_no_other(filled: Keys) -> None:
    with open_elasticsearch(filled.url, filled.roses, prefix=filled.prefix) as store:
        store.ensure_indices()
        assert {document.project for document in store.scan(Summary)} == {ROSES}
        assert store.get(Summary, [summary("pears").doc_id]) == []
        assert store.embedding_model(Summary) == ("other", 8)
        assert store.keyword_search(Summary, ["pears"], k=5) == []


@pytest.mark.timeout(300)
def test_a_basic_licence_is_told_that_a_project_key_needs_a_paid_one(
    own_elasticsearch: Callable[..., ElasticsearchServer],
) -> None:
    server = own_elasticsearch(password="changeme-in-test", licence="basic")
    writer, reader, limited = key_requests("memory", ROSES)
    admin = "elastic:changeme-in-test"
    with open_elasticsearch(server.url, make_key(writer, server.url, admin)) as store:
        store.ensure_indices()
        store.upsert(Summary, [summary("roses", project=ROSES)])
    with open_elasticsearch(server.url, make_key(reader, server.url, admin)) as store:
        assert store.count(Summary) == 1
    with pytest.raises(StoreError, match=r"needs a paid licence.*that key was not kept"):
        make_key(limited, server.url, admin)
    with pytest.raises(StoreError, match=r"licence .* does not include inference"):
        register(open_admin(server.url, admin), EndpointRequest("e", "openai", "m", "http://127.0.0.1:1"), None)
    with Elasticsearch(server.url, basic_auth=("elastic", "changeme-in-test")) as client:
        assert client.security.get_api_key(name=limited.name, active_only=True)["api_keys"] == []


def test_a_key_is_not_made_twice(filled: Keys, secured_elasticsearch: Secured) -> None:
    [request, *_] = key_requests(filled.prefix)
    with pytest.raises(StoreError, match="already"):
        make_key(request, filled.url, f"elastic:{secured_elasticsearch.password}")


def test_an_api_key_cannot_make_keys_and_is_told(secured_elasticsearch: Secured) -> None:
    [request, *_] = key_requests("any")
    with pytest.raises(StoreError, match="user:password"):
        make_key(request, secured_elasticsearch.url, "YWJjOmRlZg==")


def test_a_wrong_password_is_told(secured_elasticsearch: Secured) -> None:
    [request, *_] = key_requests("any")
    with pytest.raises(StoreError, match="does not accept the key") as raised:
        make_key(request, secured_elasticsearch.url, "elastic:wrong-word")
    assert "wrong-word" not in str(raised.value)


@pytest.mark.parametrize("privilege", ["read", "write", "manage"])
def test_no_right_can_be_left_out(privilege: str, secured_elasticsearch: Secured) -> None:
    prefix = f"less-{privilege}"
    [request, *_] = key_requests(prefix)
    role = dict(request.body["role_descriptors"]["writer"])
    [indices] = role["indices"]
    role["indices"] = [{**indices, "privileges": [p for p in indices["privileges"] if p != privilege]}]
    basic_auth = ("elastic", secured_elasticsearch.password)
    with Elasticsearch(secured_elasticsearch.url, basic_auth=basic_auth) as admin:
        key = admin.security.create_api_key(name=prefix, role_descriptors={"writer": role})["encoded"]
        try:
            with (
                pytest.raises(StoreError, match="may not do this"),
                open_elasticsearch(secured_elasticsearch.url, key, prefix=prefix) as store,
            ):
                store.ensure_indices()
                store.upsert(Summary, [summary()])
                store.count(Summary)
        finally:
            drop_indices(admin, prefix)
