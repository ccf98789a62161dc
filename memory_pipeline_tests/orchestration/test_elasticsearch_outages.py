"""What an Elasticsearch that says no costs a run: its partitions fail with a sentence, a later run mends it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import dagster as dg
import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline.stores.elasticsearch import connection
from memory_pipeline.stores.elasticsearch.keys import key_requests, make_key
from memory_pipeline_tests.orchestration.workplace import Workplace, failures
from memory_pipeline_tests.redaction.fakes import token
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.fixtures import Secured
from memory_pipeline_tests.support.elasticsearch.server import free_port


@dataclass(frozen=True, slots=True)
class Own:
    """A prefix of the test's own, the keys for it, and a client that may do everything."""

    prefix: str
    writer: str
    reader: str
    admin: Elasticsearch


@pytest.fixture
def own(secured_elasticsearch: Secured, monkeypatch: pytest.MonkeyPatch) -> Iterator[Own]:
    """The settings name the secured server, with the key that writes; second tries come at once."""
    monkeypatch.setattr("memory_pipeline.orchestration.reporting.RETRY_SECONDS", 0)
    monkeypatch.setattr(connection, "ATTEMPTS", 2)
    prefix = f"outage-{uuid.uuid4().hex[:8]}"
    url, password = secured_elasticsearch.url, secured_elasticsearch.password
    writer, reader = (make_key(request, url, f"elastic:{password}") for request in key_requests(prefix))
    monkeypatch.setenv("ES_URL", url)
    monkeypatch.setenv("ES_API_KEY", writer)
    monkeypatch.setenv("MEMORY_INDEX_PREFIX", prefix)
    with Elasticsearch(url, basic_auth=("elastic", password)) as admin:
        yield Own(prefix, writer, reader, admin)
        drop_indices(admin, prefix)


@contextmanager
def unreachable(own: Own) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ES_URL", f"http://127.0.0.1:{free_port()}")
        yield "can't be reached; check ES_URL"


@contextmanager
def wrong_key(own: Own) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ES_API_KEY", token("k"))
        yield "check ES_API_KEY"


@contextmanager
def read_only_key(own: Own) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ES_API_KEY", own.reader)
        yield "ES_API_KEY may not do this"


@contextmanager
def full_disk(own: Own) -> Iterator[str]:
    """The block that the flood-stage watermark sets."""
    block = "index.blocks.read_only_allow_delete"
    own.admin.indices.put_settings(index=f"{own.prefix}-*", settings={block: True})
    yield "its disk is nearly full"
    own.admin.indices.put_settings(index=f"{own.prefix}-*", settings={block: None})


def stored(workplace: Workplace) -> list[list[dict[str, object]]]:
    with workplace.store() as store:
        return [[document.model_dump() for document in store.scan(kind)] for kind in (RawMessage, Turn)]


@pytest.mark.parametrize("trouble", [unreachable, wrong_key, read_only_key, full_disk])
def test_a_partition_fails_with_one_sentence_loses_nothing_and_succeeds_later(
    workplace: Workplace, own: Own, trouble: Callable[[Own], AbstractContextManager[str]]
) -> None:
    first, second = (workplace.session(name, age=500).session_id for name in "ab")
    assert workplace.run(INDEX_JOB, first).success
    before = stored(workplace)
    with trouble(own) as wanted:
        result = workplace.run(INDEX_JOB, second)
        assert not result.success
        (sentence,) = failures(result)
        assert wanted in sentence
        assert "\n" not in sentence
        assert own.writer not in sentence
        restarted = [e for e in result.all_events if e.event_type == dg.DagsterEventType.STEP_RESTARTED]
        assert len(restarted) == 1, "an outage is tried once more"
        assert workplace.metadata("turn_groups", second) == {}
    assert stored(workplace) == before
    assert workplace.run(INDEX_JOB, second).success
    assert workplace.metadata("turn_groups", second)["written"] == 1
    messages, turns = stored(workplace)
    assert (len(messages), len(turns)) == (4, 2)


@pytest.mark.parametrize("trouble", [unreachable, wrong_key])
def test_sensor_and_schedules_say_why_they_ask_for_nothing(
    workplace: Workplace, own: Own, trouble: Callable[[Own], AbstractContextManager[str]]
) -> None:
    key = workplace.session("a").session_id
    assert workplace.run(INDEX_JOB, key).success
    with trouble(own) as wanted:
        assert wanted in str(workplace.enrich_tick())
        for job in (INDEX_JOB, ENRICH_JOB):
            [skipped] = workplace.night(job)
            assert isinstance(skipped, dg.SkipReason)
            assert wanted in str(skipped.skip_message)
    assert workplace.enrich_tick() == [key]
