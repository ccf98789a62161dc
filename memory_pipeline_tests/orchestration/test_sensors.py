"""What the sensors and the nightly schedules ask for, of real files, a real store and Dagster's real history."""

from __future__ import annotations

import itertools
import os
import time
from datetime import timedelta

import dagster as dg
import pytest

from memory_pipeline.documents import Turn
from memory_pipeline.orchestration.build import build_definitions
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline.orchestration.leftovers import PROCESS_TAG, this_process
from memory_pipeline_tests.orchestration.workplace import DOWN, NIGHT, Workplace, failures, set_age
from memory_pipeline_tests.support.pi_files import START, SessionWriter
from memory_pipeline_tests.support.scripted_server import ScriptedServer, word_embeddings


def test_new_files_that_are_quiet_are_requested_oldest_first(workplace: Workplace) -> None:
    middle, newest, oldest = (workplace.session(name, age=age) for name, age in (("b", 200), ("c", 100), ("a", 300)))
    tick = workplace.file_tick()
    expected = [oldest.session_id, middle.session_id, newest.session_id]
    assert tick.stretches == [expected]
    assert workplace.keys == expected
    assert tick.cursor is not None
    assert tick.cursor.isdigit()


def test_what_was_requested_is_not_requested_again(workplace: Workplace) -> None:
    workplace.session("a")
    cursor = workplace.file_tick().cursor
    again = workplace.file_tick(cursor)
    assert again.stretches == []
    assert again.skipped
    assert int(again.cursor or 0) >= int(cursor or 0)


def test_a_file_that_is_still_written_to_waits(workplace: Workplace) -> None:
    written = workplace.session("a", age=5)
    tick = workplace.file_tick()
    assert tick.stretches == []
    set_age(written.path, 31)  # as if 26 s had passed; the tick's horizon moves with the clock
    assert workplace.file_tick(str(int(tick.cursor or 0) - 26 * 10**9)).stretches == [[written.session_id]]


def test_a_file_that_grew_is_requested_again(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SETTLE_SECONDS", "0.01")
    grown = workplace.session("a")
    cursor = workplace.file_tick().cursor
    grown.turn("And now?", "Now too.")
    time.sleep(0.02)
    assert workplace.file_tick(cursor).stretches == [[grown.session_id]]
    assert workplace.keys == [grown.session_id]


@pytest.mark.parametrize("cursor", ["garbage", "", "1.5", '{"from": "elsewhere"}'])
def test_a_cursor_that_can_t_be_read_starts_over(workplace: Workplace, cursor: str) -> None:
    session = workplace.session("a")
    tick = workplace.file_tick(cursor)
    assert tick.stretches == [[session.session_id]]
    assert int(tick.cursor or 0) > 0


def test_a_missing_folder_is_a_reason_and_keeps_the_cursor(workplace: Workplace) -> None:
    workplace.sessions.rmdir()
    tick = workplace.file_tick("17")
    assert str(workplace.sessions) in (tick.skipped or "")
    assert "MEMORY_SESSIONS_DIR" in (tick.skipped or "")
    assert tick.cursor == "17"


def test_files_that_are_no_sessions_are_passed_over(workplace: Workplace) -> None:
    session = workplace.session("a")
    for name, content in (("empty", ""), ("other", '{"level": "info", "msg": "started"}\n')):
        path = session.path.with_name(f"{name}.jsonl")
        path.write_text(content)
        set_age(path, 500)
    assert workplace.file_tick().stretches == [[session.session_id]]


def test_only_files_that_are_no_sessions_move_the_cursor_on(workplace: Workplace) -> None:
    path = workplace.sessions / "empty.jsonl"
    path.write_text("")
    set_age(path, 500)
    tick = workplace.file_tick()
    assert tick.stretches == []
    assert int(tick.cursor or 0) > path.stat().st_mtime_ns


def test_more_files_than_one_tick_takes_come_in_the_next_ones(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_pipeline.orchestration.sensors.FILES_PER_TICK", 3)
    monkeypatch.setattr("memory_pipeline.orchestration.sensors.INDEX_BATCH", 2)
    ids = [workplace.session(f"app{number}", age=1_000 - number).session_id for number in range(8)]
    seen: list[list[str]] = []
    cursor = None
    for _ in range(4):
        tick = workplace.file_tick(cursor)
        seen += tick.stretches
        cursor = tick.cursor
    assert list(itertools.chain(*seen)) == ids
    assert [len(stretch) for stretch in seen] == [2, 1, 2, 1, 2]


def test_a_changed_file_between_unchanged_ones_is_requested_alone(workplace: Workplace) -> None:
    first, second, third = (workplace.session(name, age=500 - n) for n, name in enumerate("abc"))
    cursor = workplace.file_tick().cursor
    for session in (first, third):
        session.turn("And now?", "Now too.")
        set_age(session.path, 31)
    before = str(int(cursor or 0) - 10**10)
    assert workplace.file_tick(before).stretches == [[first.session_id], [third.session_id]]
    assert second.session_id in workplace.keys


def index(workplace: Workplace, *sessions: SessionWriter) -> None:
    assert workplace.run(INDEX_JOB, *(session.session_id for session in sessions)).success


def test_where_nothing_is_indexed_nothing_is_enriched(workplace: Workplace) -> None:
    assert workplace.enrich_tick() == "nothing is indexed yet"
    index(workplace, workplace.session("a"))
    assert isinstance(workplace.enrich_tick(), list)


def test_the_newest_sessions_are_enriched_first_and_at_most_ten(workplace: Workplace) -> None:
    started = SessionWriter(workplace.sessions).turn("Which one?", "The first.")
    sessions = [started, *(later(workplace, number) for number in range(1, 13))]
    index(workplace, *sessions)
    assert workplace.enrich_tick() == [session.session_id for session in sessions[-10:]]


def later(workplace: Workplace, number: int) -> SessionWriter:
    return SessionWriter(workplace.sessions, started=START + timedelta(days=number)).turn("And this?", "This one too.")


def test_what_is_enriched_is_not_requested_again_until_it_grows(workplace: Workplace, server: ScriptedServer) -> None:
    session = workplace.session("a")
    index(workplace, session)
    assert workplace.run(ENRICH_JOB, session.session_id).success
    assert "no session waits" in workplace.enrich_tick()
    session.turn("And the metrics?", "They go to `/var/lib/prometheus`, because the root disk is too small.")
    index(workplace, session)
    assert workplace.enrich_tick() == [session.session_id]


def test_one_enrich_run_at_a_time(workplace: Workplace) -> None:
    index(workplace, workplace.session("a"))
    for status in (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED):
        run_id = start(workplace, status, this_process())
        assert workplace.enrich_tick() == "an enrich run is at work"
        workplace.instance.delete_run(run_id)
    assert isinstance(workplace.enrich_tick(), list)


def start(workplace: Workplace, status: dg.DagsterRunStatus, process: str) -> str:
    """An enrich run that stands at ``status``."""
    job = build_definitions().resolve_job_def(ENRICH_JOB)
    return workplace.instance.create_run_for_job(job, status=status, tags={PROCESS_TAG: process}).run_id


def test_a_run_whose_process_is_gone_is_ended_and_hangs_nothing(workplace: Workplace) -> None:
    session = workplace.session("a")
    index(workplace, session)
    host, process, started = this_process().rsplit(":", 2)
    gone = start(workplace, dg.DagsterRunStatus.STARTED, f"{host}:{process}:{float(started) - 3600:.2f}")
    assert workplace.enrich_tick() == [session.session_id]
    run = workplace.instance.get_run_by_id(gone)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.FAILURE


def test_the_file_sensor_ends_dead_runs_too(workplace: Workplace) -> None:
    host, process, started = this_process().rsplit(":", 2)
    gone = start(workplace, dg.DagsterRunStatus.STARTED, f"{host}:{process}:{float(started) - 3600:.2f}")
    assert "1 dead" in (workplace.file_tick().skipped or "")
    assert workplace.instance.get_runs(dg.RunsFilter(run_ids=[gone]))[0].status == dg.DagsterRunStatus.FAILURE


def test_a_session_whose_model_was_down_waits_for_the_night(
    workplace: Workplace, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = workplace.session("a")
    index(workplace, session)
    with ScriptedServer() as chat:
        chat.always("/v1/models", DOWN)
        monkeypatch.setenv("LLAMA_URL", chat.url)
        result = workplace.run(ENRICH_JOB, session.session_id)
        assert not result.success
        assert any(chat.url in sentence for sentence in failures(result))
    with workplace.store() as store:
        assert store.count(Turn, {"distillation.state": "pending"}) == 1
    assert "retried by night" in workplace.enrich_tick()
    assert requested(workplace, ENRICH_JOB) == [[session.session_id]]
    session.turn("And the metrics?", "They go to `/var/lib/prometheus`.")
    index(workplace, session)
    assert workplace.enrich_tick() == [session.session_id]


def test_a_session_whose_vectors_failed_waits_for_the_night(workplace: Workplace, server: ScriptedServer) -> None:
    session = workplace.session("a")
    index(workplace, session)
    server.always("/v1/embeddings", DOWN)
    assert not workplace.run(ENRICH_JOB, session.session_id).success
    assert workplace.metadata("memory_summaries", session.session_id)["memories"] == 1
    assert "retried by night" in workplace.enrich_tick()
    assert requested(workplace, ENRICH_JOB) == [[session.session_id]]
    server.always("/v1/embeddings", word_embeddings())
    assert workplace.run(ENRICH_JOB, session.session_id).success
    assert workplace.metadata("summary_embeddings", session.session_id)["embedded"] == 1
    assert requested(workplace, ENRICH_JOB) == []


def test_turns_that_a_run_left_for_later_are_requested_at_once(
    workplace: Workplace, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = workplace.session("a")
    index(workplace, session)
    with monkeypatch.context() as hurry:
        hurry.setattr("memory_pipeline.orchestration.reporting.ENRICH_SECONDS", 0.0)
        assert workplace.run(ENRICH_JOB, session.session_id).success
    assert workplace.metadata("memory_summaries", session.session_id)["left_pending"] == 1
    assert workplace.enrich_tick() == [session.session_id]


def requested(workplace: Workplace, job: str) -> list[list[str]]:
    """The stretches that the job's nightly schedule asks for."""
    found = workplace.night(job)
    if isinstance(found[0], dg.SkipReason):
        assert len(found) == 1
        return []
    return [workplace.stretch(request) for request in found if isinstance(request, dg.RunRequest)]


def test_a_file_restored_with_an_old_time_is_found_by_night(workplace: Workplace) -> None:
    index(workplace, workplace.session("a"))
    cursor = workplace.file_tick().cursor
    restored = workplace.session("b", age=30 * 24 * 3_600)
    assert workplace.file_tick(cursor).stretches == []
    assert requested(workplace, INDEX_JOB) == [[restored.session_id]]
    index(workplace, restored)
    assert requested(workplace, INDEX_JOB) == []


def test_a_file_changed_behind_its_own_time_is_found_by_night(workplace: Workplace) -> None:
    session = workplace.session("a")
    index(workplace, session)
    before = session.path.stat().st_mtime_ns
    session.turn("And now?", "Now too.")
    os.utime(session.path, ns=(before, before))
    assert requested(workplace, INDEX_JOB) == [[session.session_id]]


def test_a_missing_folder_is_a_reason_by_night_too(workplace: Workplace) -> None:
    workplace.sessions.rmdir()
    (reason,) = workplace.night(INDEX_JOB)
    assert isinstance(reason, dg.SkipReason)
    assert str(workplace.sessions) in (reason.skip_message or "")


def test_a_night_s_requests_are_made_once_and_the_next_night_s_anew(workplace: Workplace) -> None:
    workplace.session("a")

    def key(night: int) -> str | None:
        (request,) = workplace.night(INDEX_JOB, NIGHT + timedelta(days=night))
        assert isinstance(request, dg.RunRequest)
        return request.run_key

    assert key(0) == key(0)
    assert key(0) is not None
    assert key(0) != key(1)
