"""The jobs, run in this process: what each session's materializations say, and whom a failure costs what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing

import dagster as dg
import pytest

from memory_pipeline.documents import RawMessage, Summary, Turn
from memory_pipeline.models import open_embedder
from memory_pipeline.models.ahead import EmbedsAhead
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline.orchestration.leftovers import PROCESS_TAG, this_process
from memory_pipeline.orchestration.partitions import RANGE_END, RANGE_START
from memory_pipeline.orchestration.reporting import COMMAND_LINE_TAG, LogReporter
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.orchestration.workplace import DOWN, Workplace, failures
from memory_pipeline_tests.support.pi_files import SessionWriter
from memory_pipeline_tests.support.scripted_server import ScriptedServer, chat_completion, error

CHAT = "/v1/chat/completions"
TIERS = ("raw_sessions", "memory_raw", "turn_groups")


@pytest.fixture
def sessions(workplace: Workplace) -> list[SessionWriter]:
    return [workplace.session(name, age=500 - number) for number, name in enumerate("abc")]


@pytest.fixture
def keys(sessions: list[SessionWriter]) -> list[str]:
    return [session.session_id for session in sessions]


def restarts(result: dg.ExecuteInProcessResult) -> int:
    return sum(event.event_type == dg.DagsterEventType.STEP_RESTARTED for event in result.all_events)


def test_each_session_of_a_run_has_its_own_counts(
    workplace: Workplace, sessions: list[SessionWriter], keys: list[str]
) -> None:
    sessions[1].turn("And the metrics?", "To `/var/lib/prometheus`.")
    result = workplace.run(INDEX_JOB, *keys)
    assert result.success
    for session, turns in zip(sessions, (1, 2, 1), strict=True):
        recorded, ingested, grouped = (workplace.metadata(tier, session.session_id) for tier in TIERS)
        assert recorded.pop("seconds") > 0
        assert recorded == {
            "path": str(session.path), "format": "pi-v3", "entries": 2 * turns, "messages": 2 * turns, "turns": turns,
            "problems": 0, "changed": 1,
        }  # fmt: skip
        assert (ingested["written"], ingested["unchanged"]) == (2 * turns, 0)
        assert (grouped["written"], grouped["unchanged"]) == (turns, 0)
    run = workplace.instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags[PROCESS_TAG] == this_process()


def test_run_again_nothing_is_written(workplace: Workplace, keys: list[str], server: ScriptedServer) -> None:
    for job in (INDEX_JOB, ENRICH_JOB):
        assert workplace.run(job, *keys).success
    first = contents(workplace)
    for job in (INDEX_JOB, ENRICH_JOB):
        assert workplace.run(job, *keys).success
    assert contents(workplace) == first
    for key in keys:
        assert workplace.metadata("raw_sessions", key)["changed"] == 0
        for tier, count in (("memory_raw", 2), ("turn_groups", 1)):
            made = workplace.metadata(tier, key)
            assert (made["written"], made["unchanged"]) == (0, count)
        made = workplace.metadata("memory_summaries", key)
        assert (made["distilled"], made["unchanged"], made["memories"]) == (0, 1, 0)
        assert workplace.metadata("summary_embeddings", key)["embedded"] == 0


def contents(workplace: Workplace) -> list[list[dict[str, object]]]:
    with workplace.store() as store:
        return [[doc.model_dump() for doc in store.scan(kind)] for kind in (RawMessage, Turn, Summary)]


def test_a_session_whose_file_is_gone_costs_a_batch_only_itself(
    workplace: Workplace, sessions: list[SessionWriter], keys: list[str]
) -> None:
    sessions[1].path.unlink()
    result = workplace.run(INDEX_JOB, *keys)
    assert result.success
    for key in (keys[0], keys[2]):
        assert workplace.metadata("turn_groups", key)["written"] == 1
    gone = workplace.metadata("raw_sessions", keys[1])
    assert gone["problems"] == 1
    assert keys[1] in gone["problem"]
    assert "has no file" in gone["problem"]


def test_alone_it_fails_the_run_with_the_sentence_and_without_another_try(
    workplace: Workplace, sessions: list[SessionWriter], keys: list[str]
) -> None:
    sessions[1].path.unlink()
    result = workplace.run(INDEX_JOB, keys[1])
    assert not result.success
    (sentence,) = failures(result)
    assert keys[1] in sentence
    assert "MEMORY_SESSIONS_DIR" in sentence
    assert restarts(result) == 0
    assert workplace.metadata("raw_sessions", keys[1]) == {}


def test_what_was_read_of_a_file_that_is_gone_since_is_kept_and_distilled(
    workplace: Workplace, sessions: list[SessionWriter], keys: list[str], server: ScriptedServer
) -> None:
    assert workplace.run(INDEX_JOB, *keys).success
    sessions[1].path.unlink()
    assert workplace.run(INDEX_JOB, *keys).success
    assert workplace.run(ENRICH_JOB, keys[1]).success
    assert workplace.metadata("memory_summaries", keys[1])["memories"] == 1


@pytest.mark.parametrize("job", [INDEX_JOB, ENRICH_JOB])
def test_a_range_that_is_empty_is_a_failure(workplace: Workplace, keys: list[str], job: str) -> None:
    workplace.instance.add_dynamic_partitions("session_files", keys)
    result = workplace.run(job, *keys, tags={RANGE_START: keys[2], RANGE_END: keys[0]})
    assert not result.success
    assert all("selects no sessions" in sentence for sentence in failures(result))
    assert failures(result)


def test_a_batch_is_distilled_newest_first(
    workplace: Workplace, keys: list[str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.run(INDEX_JOB, *keys)
    server.always(CHAT, chat_completion('{"memories": []}'))
    monkeypatch.setenv("LLAMA_URL", server.url)
    assert workplace.run(ENRICH_JOB, *keys).success
    asked = [request.json()["messages"][-1]["content"] for request in server.requests_for(CHAT)]
    assert [name for text in asked for name in "abc" if f"logs of {name} go" in text] == ["c", "b", "a"]


class Expecting(EmbedsAhead):
    """Notes which texts it was told of before, and which it was asked for."""

    def __init__(self) -> None:
        super().__init__(open_embedder(load_settings()))
        self.expected: list[str] = []
        self.asked: list[str] = []

    def expect(self, texts: Sequence[str]) -> None:
        self.expected += texts
        super().expect(texts)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return super().embed(texts)


class AheadReporter(LogReporter):
    def __init__(self, embedder: EmbedsAhead) -> None:
        self._embedder = embedder

    def ahead(self) -> EmbedsAhead:
        return self._embedder


@pytest.mark.usefixtures("server")
def test_distilling_tells_of_every_text_that_is_embedded_after_it(workplace: Workplace, keys: list[str]) -> None:
    assert workplace.run(INDEX_JOB, *keys).success
    with closing(Expecting()) as embedder:
        assert workplace.run(ENRICH_JOB, *keys, resources={"reporter": AheadReporter(embedder)}).success
    assert embedder.asked
    assert embedder.expected == embedder.asked
    with workplace.store() as store:
        assert store.count(Summary, {"embedding_model": None}) == 0


def test_metadata_tell_counts_and_never_a_word_of_a_memory(
    workplace: Workplace, keys: list[str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.run(INDEX_JOB, *keys)
    memory = {
        "summary": "Logs of c go to /var/log/c.log.",
        "tags": ["logs", "paths", "journald"],
        "evidence": ["They go to `/var/log/c.log`"],
    }
    server.then(CHAT, chat_completion(json.dumps({"memories": [memory]})))
    server.then(CHAT, chat_completion("logs of b, in prose"), error("the logs of a break our rules", 400))
    monkeypatch.setenv("LLAMA_URL", server.url)
    assert workplace.run(ENRICH_JOB, *keys).success
    found = [workplace.metadata("memory_summaries", key) for key in keys]
    assert [(made["memories"], made["problems"]) for made in found] == [(0, 1), (0, 1), (1, 0)]
    assert found[2]["prompt_tokens"] == 11
    assert found[2]["completion_tokens"] == 7
    for made in found:
        assert all(isinstance(value, int | float) for value in made.values())
    assert workplace.metadata("summary_embeddings", keys[2])["embedded"] == 1


@pytest.mark.parametrize(("tags", "tries"), [({}, 2), ({COMMAND_LINE_TAG: "true"}, 1)], ids=["daemon", "command line"])
def test_an_outage_is_tried_once_more_by_the_daemon_and_told_at_once_at_the_command_line(
    workplace: Workplace, keys: list[str], server: ScriptedServer, tags: dict[str, str], tries: int
) -> None:
    workplace.run(INDEX_JOB, keys[0])
    server.always("/v1/embeddings", DOWN)
    result = workplace.run(ENRICH_JOB, keys[0], tags=tags)
    assert not result.success
    assert restarts(result) == tries - 1
    (sentence,) = failures(result)
    assert server.url in sentence


def test_an_outage_that_is_over_by_then_costs_nothing(
    workplace: Workplace, keys: list[str], server: ScriptedServer
) -> None:
    workplace.run(INDEX_JOB, keys[0])
    server.then("/v1/embeddings", *[DOWN] * 4)
    result = workplace.run(ENRICH_JOB, keys[0])
    assert result.success
    assert workplace.metadata("summary_embeddings", keys[0])["embedded"] == 1


def test_another_embedding_model_is_not_tried_twice(
    workplace: Workplace, keys: list[str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.run(INDEX_JOB, *keys)
    workplace.run(ENRICH_JOB, keys[0])
    server.always("/v1/models", error("no such path", 404))
    monkeypatch.setenv("MEMORY_EMBEDDINGS_MODEL", "other-words")
    result = workplace.run(ENRICH_JOB, keys[1])
    assert not result.success
    assert restarts(result) == 0
    (sentence,) = failures(result)
    assert "other-words" in sentence
    assert "run --reembed" in sentence
