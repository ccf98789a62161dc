"""An index of another mapping is filled into a new one behind the same alias: nothing is lost, readers see no gap."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import RawMessage, Summary
from memory_pipeline.errors import StoreError
from memory_pipeline.stores.elasticsearch import ElasticsearchStore, indices, mapping, open_elasticsearch
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, raw, summary
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices

PREFIX = f"migrating-{os.getpid()}"


@pytest.fixture
def admin(elasticsearch_server: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_server) as client:
        yield client
        drop_indices(client, PREFIX)


@pytest.fixture
def older(elasticsearch_server: str, admin: Elasticsearch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filled store of a version that kept messages' text as keywords, and projects without their words."""
    now = mapping.properties

    def then(kind: type) -> dict[str, object]:
        found: dict[str, object] = dict(now(kind))
        if kind is RawMessage:
            found["content"] = {"type": "keyword", "ignore_above": 8_191}
        if kind is Summary:
            found["project"] = {"type": "text"}
        return found

    with monkeypatch.context() as patched:
        patched.setattr(indices, "properties", then)
        with open_elasticsearch(elasticsearch_server, None, prefix=PREFIX) as store:
            store.ensure_indices()
            store.upsert(RawMessage, [raw(n) for n in range(250)])
            store.upsert(Summary, [summary("roses"), summary("Der Gärtner gießt täglich die Rosen.", language="de")])
            store.put_vectors(Summary, {summary("roses").doc_id: at_angle(30)}, model=MODEL)


def opened(url: str) -> ElasticsearchStore:
    return open_elasticsearch(url, None, prefix=PREFIX)


def made_by_older(properties: Callable[[type], dict[str, object]], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty indices of a version that mapped fields in another way."""
    with monkeypatch.context() as patched:
        patched.setattr(indices, "properties", properties)
        with opened(url) as store:
            store.ensure_indices()


@pytest.mark.usefixtures("older")
def test_what_changed_is_told_and_migrated_with_all_that_is_in_it(
    elasticsearch_server: str, admin: Elasticsearch
) -> None:
    with opened(elasticsearch_server) as store, pytest.raises(StoreError, match="memory-pipeline migrate"):
        store.ensure_indices()
    with opened(elasticsearch_server) as store:
        assert store.outdated() == {f"{PREFIX}-raw": ["content"], f"{PREFIX}-summary": ["project"]}
        told: list[str] = []
        store.migrate(told.append)
        assert told == [f"{PREFIX}-raw", f"{PREFIX}-summary"]
        assert store.outdated() == {}
    with opened(elasticsearch_server) as store:
        store.ensure_indices()
        assert list(store.scan(RawMessage, order=("message_index",))) == [raw(n) for n in range(250)]
        assert len(store.keyword_search(RawMessage, ["number"], k=300)) == 250
        assert len(store.keyword_search(Summary, ["rose"], k=5)) == 2
        [nearest] = store.vector_search(Summary, at_angle(30), k=5)
        assert (nearest.document.summary, nearest.document.embedding_model) == ("roses", MODEL)
        assert store.upsert(RawMessage, [raw(0), raw(250)]).written == 1
    assert sorted(admin.indices.get(index=f"{PREFIX}-raw*")) == [f"{PREFIX}-raw-v2"]


@pytest.mark.usefixtures("older")
def test_readers_see_no_gap_and_writers_lose_nothing(elasticsearch_server: str) -> None:
    seen: list[int] = []
    refused: list[str] = []
    written: list[str] = []
    done = threading.Event()

    def read_and_write() -> None:
        with Elasticsearch(elasticsearch_server) as client:
            number = 1_000
            while not done.is_set():
                seen.append(client.count(index=f"{PREFIX}-raw")["count"])
                document = raw(number).model_dump()
                answer = client.bulk(
                    index=f"{PREFIX}-raw", operations=[{"index": {"_id": document["doc_id"]}}, document], refresh=True
                )
                [item] = answer["items"]
                (refused if "error" in item["index"] else written).append(document["doc_id"])
                number += 1

    thread = threading.Thread(target=read_and_write)
    thread.start()
    with opened(elasticsearch_server) as store:
        store.migrate(lambda alias: None)
        done.set()
        thread.join()
        store.ensure_indices()
        kept = {document.doc_id for document in store.scan(RawMessage)}
    assert min(seen) >= 250
    assert set(written) <= kept
    assert not set(refused) & kept


@pytest.mark.usefixtures("older")
def test_a_migration_that_was_stopped_begins_anew(
    elasticsearch_server: str, admin: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as crash, opened(elasticsearch_server) as store, pytest.raises(Killed):
        crash.setattr(indices.Indices, "_copy", dies)
        crash.setattr(indices.Indices, "_block", lambda *_: None)
        store.migrate(lambda alias: None)
    assert admin.count(index=f"{PREFIX}-raw")["count"] == 250
    with opened(elasticsearch_server) as store:
        store.migrate(lambda alias: None)
        store.ensure_indices()
        assert store.count(RawMessage) == 250


@pytest.mark.usefixtures("older")
def test_the_old_index_stays_where_the_new_one_lacks_documents(
    elasticsearch_server: str, admin: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = indices.Indices._everything

    def lacking(self: indices.Indices, index: indices.Index) -> Iterator[tuple[str, dict[str, object]]]:
        yield from islice(everything(self, index), 1, None)

    with monkeypatch.context() as patched, opened(elasticsearch_server) as store:
        patched.setattr(indices.Indices, "_everything", lacking)
        with pytest.raises(StoreError, match="249 of the 250 documents"):
            store.migrate(lambda alias: None)
    assert admin.count(index=f"{PREFIX}-raw")["count"] == 250
    with opened(elasticsearch_server) as store:
        store.migrate(lambda alias: None)
        store.ensure_indices()
        assert store.upsert(RawMessage, [raw(250)]).written == 1
        assert store.count(RawMessage) == 251


def test_new_fields_are_added_in_place_those_inside_of_objects_too(
    elasticsearch_server: str, admin: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = mapping.properties

    def then(kind: type) -> dict[str, object]:
        found: dict[str, object] = dict(now(kind))
        if kind is Summary:
            del found["trust"]
            inside = dict(now(kind)["source_refs"]["properties"])
            del inside["turn_id"]
            found["source_refs"] = {"properties": inside}
        return found

    made_by_older(then, elasticsearch_server, monkeypatch)
    with opened(elasticsearch_server) as store:
        store.ensure_indices()
        assert store.outdated() == {}
        assert store.upsert(Summary, [summary("roses")]).written == 1
        assert store.count(Summary, {"source_refs.turn_id": "session-1_0", "trust": "user"}) == 1
    assert sorted(admin.indices.get(index=f"{PREFIX}-summary*")) == [f"{PREFIX}-summary-v1"]


def test_a_field_that_was_not_analysed_too_has_to_be_migrated(
    elasticsearch_server: str, admin: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = mapping.properties

    def then(kind: type) -> dict[str, object]:
        found: dict[str, object] = dict(now(kind))
        if kind is Summary:
            found["project"] = {name: value for name, value in now(kind)["project"].items() if name != "fields"}
        return found

    made_by_older(then, elasticsearch_server, monkeypatch)
    with opened(elasticsearch_server) as store:
        assert store.outdated() == {f"{PREFIX}-summary": ["project"]}
