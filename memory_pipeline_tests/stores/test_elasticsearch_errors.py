"""What goes wrong with a cluster: one clear sentence each, and nothing lost."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import DOCUMENTS, RawMessage, Summary
from memory_pipeline.errors import StoreError
from memory_pipeline.stores import BulkResult, MemoryStore
from memory_pipeline.stores.elasticsearch import (
    ElasticsearchStore,
    candidates,
    connection,
    mapping,
    open_elasticsearch,
)
from memory_pipeline.stores.elasticsearch.search import ask_all
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, raw, summary
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.fixtures import Secured
from memory_pipeline_tests.support.elasticsearch.server import ElasticsearchServer, free_port
from memory_pipeline_tests.support.scripted_server import Answer, ScriptedServer

PREFIX = f"errors-{os.getpid()}"
IS_ELASTIC = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/vnd.elasticsearch+json"}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server stays as it is, nothing is gained by waiting."""
    monkeypatch.setattr(connection, "ATTEMPTS", 2)


@pytest.fixture
def store(elasticsearch_server: str) -> Iterator[ElasticsearchStore]:
    with open_elasticsearch(elasticsearch_server, None, prefix=PREFIX) as opened:
        opened.ensure_indices()
        yield opened
    with Elasticsearch(elasticsearch_server) as client:
        drop_indices(client, PREFIX)


@pytest.fixture
def admin(elasticsearch_server: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_server) as client:
        yield client


def sentence(ask: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as raised:
        ask()
    text = str(raised.value)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def test_a_wrong_address_is_told_at_once() -> None:
    with open_elasticsearch(f"http://ann:pass@127.0.0.1:{free_port()}", None) as store:
        text = sentence(store.ensure_indices)
    assert "can't be reached; check ES_URL" in text
    assert "pass" not in text


def test_an_address_of_something_else_is_told() -> None:
    with ScriptedServer() as server, open_elasticsearch(server.url, None) as store:
        server.always("/", Answer(body={"hello": "there"}))
        assert "ES_URL" in sentence(store.ensure_indices)


def test_tls_where_there_is_none_is_told(elasticsearch_server: str) -> None:
    with open_elasticsearch(elasticsearch_server.replace("http:", "https:"), None) as store:
        text = sentence(store.ensure_indices)
    assert "TLS" in text
    assert "ES_URL" in text


def test_a_wrong_key_is_told_and_not_shown(secured_elasticsearch: Secured) -> None:
    key = base64.b64encode(b"no-such-id:no-such-key").decode()
    with open_elasticsearch(secured_elasticsearch.url, key) as store:
        text = sentence(store.ensure_indices)
    assert "ES_API_KEY" in text
    assert key not in text
    assert key not in repr(store)


def test_an_index_of_somebody_else_is_left_alone(elasticsearch_server: str, admin: Elasticsearch) -> None:
    admin.indices.create(index="foreign-raw", mappings={"properties": {"content": {"type": "keyword"}}})
    try:
        with open_elasticsearch(elasticsearch_server, None, prefix="foreign") as store:
            text = sentence(store.ensure_indices)
        assert "foreign-raw" in text
        assert "MEMORY_INDEX_PREFIX" in text
        assert list(admin.indices.get(index="foreign-*")) == ["foreign-raw"]
    finally:
        drop_indices(admin, "foreign")


def test_an_index_with_another_mapping_asks_for_a_migration(elasticsearch_server: str, admin: Elasticsearch) -> None:
    mark = {"memory_pipeline": {"tier": "raw"}}
    admin.indices.create(
        index="older-raw-v1",
        aliases={"older-raw": {"is_write_index": True}},
        mappings={"_meta": mark, "properties": {"content": {"type": "keyword"}}},
    )
    try:
        with open_elasticsearch(elasticsearch_server, None, prefix="older") as store:
            text = sentence(store.ensure_indices)
        assert "content" in text
        assert "memory-pipeline migrate" in text
    finally:
        drop_indices(admin, "older")


def test_fields_that_a_later_version_added_are_added(elasticsearch_server: str, admin: Elasticsearch) -> None:
    mark = {"memory_pipeline": {"tier": "raw"}}
    admin.indices.create(
        index="lesser-raw-v1",
        aliases={"lesser-raw": {"is_write_index": True}},
        settings=dict(mapping.SETTINGS),
        mappings={"dynamic": "strict", "_meta": mark, "properties": {"session_id": {"type": "keyword"}}},
    )
    try:
        with open_elasticsearch(elasticsearch_server, None, prefix="lesser") as store:
            store.ensure_indices()
            assert store.upsert(RawMessage, [raw(0)]) == BulkResult(written=1)
    finally:
        drop_indices(admin, "lesser")


@pytest.mark.usefixtures("hasty")
def test_a_red_index_is_told(elasticsearch_server: str, admin: Elasticsearch) -> None:
    with open_elasticsearch(elasticsearch_server, None, prefix="red") as store:
        store.ensure_indices()
        made = admin.indices.get(index="red-raw")["red-raw-v1"]
        admin.indices.delete(index="red-raw-v1")
        nowhere = {"index.routing.allocation.require._name": "no-such-node"}
        admin.indices.create(
            index="red-raw-v1",
            aliases={"red-raw": {"is_write_index": True}},
            mappings=made["mappings"],
            settings={**mapping.SETTINGS, **nowhere},
            wait_for_active_shards="0",
        )
        try:
            text = sentence(lambda: store.count(RawMessage))
            assert "shard" in text or "overloaded" in text
            assert "health" in text
        finally:
            store.close()
            drop_indices(admin, "red")


@pytest.mark.usefixtures("hasty")
def test_a_disk_that_is_full_stops_the_writing_and_is_told(store: ElasticsearchStore, admin: Elasticsearch) -> None:
    store.upsert(RawMessage, [raw(0)])
    admin.indices.put_settings(index=f"{PREFIX}-raw", settings={"index.blocks.read_only_allow_delete": True})
    text = sentence(lambda: store.upsert(RawMessage, [raw(1)]))
    assert "disk" in text
    assert "run again" in text
    assert store.get(RawMessage, [raw(0).doc_id]) == [raw(0)]
    admin.indices.put_settings(index=f"{PREFIX}-raw", settings={"index.blocks.read_only_allow_delete": None})
    assert store.upsert(RawMessage, [raw(0), raw(1)]) == BulkResult(written=1, unchanged=1)


def test_a_server_that_does_not_answer_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with ElasticsearchStore(connection.Server(connection.connect(url, None, timeout=0.3), url)) as store:
            assert "did not answer in time" in sentence(store.ensure_indices)


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ATTEMPTS", 4)
    answers = [Answer(status=429, headers=IS_ELASTIC, body={}), Answer(status=503, headers=IS_ELASTIC, body={})]
    calls: list[int] = []
    client = connection.connect("http://127.0.0.1:1", None)
    server = connection.Server(client, "http://127.0.0.1:1")

    def method() -> str:
        from elastic_transport import ApiResponseMeta, HttpHeaders, NodeConfig
        from elasticsearch import ApiError

        calls.append(1)
        if answers:
            status = answers.pop().status
            meta = ApiResponseMeta(status, "1.1", HttpHeaders(), 0.1, NodeConfig("http", "x", 1))
            raise ApiError("busy", meta, {})
        return "done"

    assert server(method) == "done"
    assert len(calls) == 3
    server.close()


def test_a_vector_of_the_wrong_length_in_a_bulk_of_a_hundred_is_named(store: ElasticsearchStore) -> None:
    documents = [
        summary(f"idea {n}", summary_embedding=at_angle(n, 3 if n == 57 else 4), embedding_model=MODEL)
        for n in range(100)
    ]
    result = store.upsert(Summary, documents)
    assert (result.written, [refused.doc_id for refused in result.refused]) == (99, [documents[57].doc_id])


def test_what_the_index_refuses_is_named_without_its_value(store: ElasticsearchStore, admin: Elasticsearch) -> None:
    impossible = raw(1, message_timestamp="2026-13-45T99:99:99.999Z")
    result = store.upsert(RawMessage, [raw(0), impossible, raw(2)])
    assert result.written == 2
    [refused] = result.refused
    assert (refused.doc_id, refused.field) == (impossible.doc_id, "message_timestamp")
    assert "2026-13-45" not in refused.reason


def test_undeclared_fields_are_never_mapped(store: ElasticsearchStore, admin: Elasticsearch) -> None:
    [item] = admin.bulk(index=f"{PREFIX}-raw", operations=[{"index": {}}, {"mood": "fine"}])["items"]
    assert item["index"]["error"]["type"] == "strict_dynamic_mapping_exception"
    mappings = admin.indices.get_mapping(index=f"{PREFIX}-*")
    assert {m["mappings"]["dynamic"] for m in mappings.values()} == {"strict"}


def test_k_is_honoured_and_ids_with_dashes_are_filtered(store: ElasticsearchStore) -> None:
    session = "0b8f4f5e-6f0a-4f43-9a53-2a8d1c0e7c11"
    store.upsert(RawMessage, [raw(n, session_id=session) for n in range(40)] + [raw(n) for n in range(40)])
    hits = store.keyword_search(RawMessage, ["message"], k=25, where={"session_id": session})
    assert len(hits) == 25
    assert {hit.document.session_id for hit in hits} == {session}
    assert len(list(store.scan(RawMessage, {"session_id": session}))) == 40


def test_two_that_write_the_same_document_lose_nothing(elasticsearch_server: str, store: ElasticsearchStore) -> None:
    """Each adds its source to one summary, twenty times, reading before it writes."""
    document = summary("shared", source_refs=[])
    store.upsert(Summary, [document])

    def add(name: str) -> None:
        with open_elasticsearch(elasticsearch_server, None, prefix=PREFIX) as other:
            for n in range(10):
                other.upsert(Summary, [summary(f"{name} {n}")])

    threads = [threading.Thread(target=add, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.count(Summary) == 21


def test_a_document_changed_between_reading_and_writing_is_read_again(
    store: ElasticsearchStore, elasticsearch_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory_pipeline.stores.elasticsearch import writing

    store.upsert(Summary, [summary("idea")])
    read = writing.read_stored
    interrupted: list[bool] = []

    def meanwhile(*arguments: object) -> object:
        found = read(*arguments)  # type: ignore[arg-type]
        if not interrupted:
            interrupted.append(True)
            with open_elasticsearch(elasticsearch_server, None, prefix=PREFIX) as other:
                other.put_vectors(Summary, {summary("idea").doc_id: at_angle(7)}, model=MODEL)
        return found

    monkeypatch.setattr(writing, "read_stored", meanwhile)
    assert store.upsert(Summary, [summary("idea", tags=["new"])]) == BulkResult(written=1)
    [found] = store.get(Summary, [summary("idea").doc_id], vectors=True)
    assert found.tags == ["new"]
    assert found.summary_embedding == pytest.approx(at_angle(7))


@pytest.mark.timeout(300)
def test_a_server_that_is_killed_within_a_bulk_and_comes_back_ends_as_if_it_had_not(
    own_elasticsearch: Callable[[], ElasticsearchServer],
) -> None:
    server = own_elasticsearch()
    documents = [raw(n, content=f"message {n} " + "word " * 200) for n in range(6_000)]
    with open_elasticsearch(server.url, None, prefix="steady") as store:
        store.ensure_indices()
        store.upsert(RawMessage, documents)
        wanted = hashes(store)
    with open_elasticsearch(server.url, None, prefix="killed") as store:
        store.ensure_indices()
        killer = threading.Timer(0.6, server.kill)

        def stream() -> Iterator[RawMessage]:
            for number, document in enumerate(documents):
                if number == 1_500:
                    killer.start()
                yield document

        with suppress(StoreError):
            store.upsert(RawMessage, stream())
            pytest.fail("the server was killed too late")
    killer.join()
    server.start()
    with open_elasticsearch(server.url, None, prefix="killed") as store:
        store.ensure_indices()
        again = store.upsert(RawMessage, documents)
        assert again.written + again.unchanged == len(documents)
        assert again.unchanged > 0, "what was acknowledged is there"
        assert hashes(store) == wanted


def hashes(store: MemoryStore) -> dict[str, str]:
    return {
        kind.index: hashlib.sha256("\n".join(d.model_dump_json() for d in store.scan(kind)).encode()).hexdigest()
        for kind in DOCUMENTS
    }


def test_nothing_of_a_document_is_in_the_sentence_of_a_failed_bulk(store: ElasticsearchStore) -> None:
    text = json.dumps([refused.reason for refused in store.upsert(RawMessage, [{"doc_id": "x", "content": 7}]).refused])
    assert "7" not in text


def test_a_document_deleted_in_the_middle_of_a_search_is_no_candidate(
    store: ElasticsearchStore, elasticsearch_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [summary(f"idea {number}") for number in range(3)]
    store.upsert(Summary, documents)
    store.put_vectors(Summary, {d.doc_id: at_angle(20 * number) for number, d in enumerate(documents)}, model=MODEL)
    gone = documents[0].doc_id

    def deleted_after_the_first(*arguments: Any) -> dict[str, Any]:
        found = ask_all(*arguments)
        if "statistics" in found:
            with open_elasticsearch(elasticsearch_server, None, prefix=PREFIX) as other:
                other.delete(Summary, {"doc_id": gone})
        return found

    monkeypatch.setattr(candidates, "ask_all", deleted_after_the_first)
    found = store.candidates(Summary, ["roses"], at_angle(0), k=3)
    assert {hit.document.doc_id for hit in found.hits} == {documents[1].doc_id, documents[2].doc_id}
