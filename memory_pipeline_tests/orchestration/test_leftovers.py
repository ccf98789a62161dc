"""A run whose process was killed hangs nobody: it is ended, and its place in the pool is free again."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest

from memory_pipeline.orchestration.home import open_instance
from memory_pipeline.orchestration.leftovers import PROCESS_TAG, clear_leftovers, pool_holder, this_process
from memory_pipeline.settings import Settings, load_settings

HANGS_IN_THE_POOL = textwrap.dedent(
    """
    import sys, time
    import dagster as dg
    from memory_pipeline.orchestration.home import open_instance
    from memory_pipeline.orchestration.leftovers import mark
    from memory_pipeline.settings import load_settings

    @dg.asset(pool="llm")
    def asks_the_model(context: dg.AssetExecutionContext) -> None:
        mark(context.instance, context.run)
        print("at work", flush=True)
        time.sleep(600)

    with open_instance(load_settings()) as instance:
        dg.materialize([asks_the_model], instance=instance)
    """
)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("MEMORY_DATA_DIR", str(tmp_path / "data"))
    return load_settings()


def start_and_kill() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HANGS_IN_THE_POOL], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()


def claimed(instance: dg.DagsterInstance) -> int:
    return len(instance.event_log_storage.get_concurrency_info("llm").claimed_slots)


def test_a_killed_run_is_ended_and_frees_its_slot(settings: Settings) -> None:
    open_instance(settings).dispose()
    start_and_kill()
    with open_instance(settings) as instance:
        (run,) = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.STARTED
        assert claimed(instance) == 1
        assert clear_leftovers(instance) == [run.run_id]
        assert instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.FAILURE  # type: ignore[union-attr]
        assert claimed(instance) == 0
        assert clear_leftovers(instance) == []


def test_a_run_that_is_alive_or_says_nothing_of_its_process_is_left_alone(settings: Settings) -> None:
    with open_instance(settings) as instance:
        for tags in ({PROCESS_TAG: this_process()}, {PROCESS_TAG: "host:not-a-pid:1"}, {}):
            instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTED, tags=tags)
        assert clear_leftovers(instance) == []


def test_a_laptop_that_has_another_name_today_still_ends_its_dead_runs(settings: Settings) -> None:
    host, process, started = this_process().rsplit(":", 2)
    with open_instance(settings) as instance:
        tag = f"{host}-at-home:{process}:{float(started) - 3600:.2f}"
        run = instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: tag})
        assert clear_leftovers(instance) == [run.run_id]


def test_a_run_killed_before_it_started_is_ended(settings: Settings) -> None:
    host, process, started = this_process().rsplit(":", 2)
    with open_instance(settings) as instance:
        tag = f"{host}:{process}:{float(started) - 3600:.2f}"
        run = instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.NOT_STARTED, tags={PROCESS_TAG: tag})
        assert clear_leftovers(instance) == [run.run_id]


def test_a_place_in_the_pool_that_an_ended_run_kept_is_freed(settings: Settings) -> None:
    with open_instance(settings) as instance:
        run = instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTED)
        instance.event_log_storage.set_concurrency_slots("llm", 1)
        instance.event_log_storage.claim_concurrency_slot("llm", run.run_id, "step")
        assert pool_holder(instance) == run.run_id
        instance.report_run_failed(run)
        assert pool_holder(instance) is None


def test_a_process_id_that_was_given_to_another_process_counts_as_dead(settings: Settings) -> None:
    host, process, started = this_process().rsplit(":", 2)
    with open_instance(settings) as instance:
        tag = f"{host}:{process}:{float(started) - 3600:.2f}"
        run = instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: tag})
        assert clear_leftovers(instance) == [run.run_id]


def _job() -> dg.JobDefinition:
    @dg.op
    def nothing() -> None: ...

    @dg.job
    def some_job() -> None:
        nothing()

    return some_job
