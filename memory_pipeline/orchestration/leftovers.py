"""Runs whose process is gone: a kill -9 or a power cut leaves them started for ever and their pool slot claimed.

Dagster's default launcher has no health check, and runs made by the command line are nobody's to watch. So every run
carries the process that does its work, and whoever starts next (the command line or a sensor) ends what is dead.
"""

from __future__ import annotations

import os
import platform
import time

import dagster as dg
import psutil

PROCESS_TAG = "memory_pipeline/process"
UNMARKED_SECONDS = 120.0
_AT_WORK = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def this_process() -> str:
    """Host, process id and start time: a process id alone comes back after a restart."""
    return f"{platform.node()}:{os.getpid()}:{psutil.Process().create_time():.2f}"


def mark(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """Note on the run which process works on it."""
    if run.tags.get(PROCESS_TAG) != this_process():
        instance.add_run_tags(run.run_id, {PROCESS_TAG: this_process()})


def clear_leftovers(instance: dg.DagsterInstance) -> list[str]:
    """Fail the runs whose process is gone, and free what they and ended runs still hold; returns their ids."""
    dead = dead_runs(instance)
    for run in dead:
        instance.report_run_failed(run, "The process that worked on this run is gone; what it had done is kept.")
    for run_id in {run.run_id for run in dead} | {
        run_id for run_id in _holders(instance) if _has_ended(instance, run_id)
    }:
        instance.event_log_storage.free_concurrency_slots_for_run(run_id)
    return [run.run_id for run in dead]


def dead_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Runs that stand as being at work although their process is gone."""
    holders = _holders(instance)
    dead = []
    for record in instance.get_run_records(filters=dg.RunsFilter(statuses=_AT_WORK)):
        run = record.dagster_run
        tag = run.tags.get(PROCESS_TAG)
        if tag is None:
            # Our assets mark their run as soon as they have their place in the pool: this one was killed just there.
            if run.run_id in holders and time.time() - (record.start_time or time.time()) > UNMARKED_SECONDS:
                dead.append(run)
        elif _is_dead(tag, any_host=_is_local(instance)):
            dead.append(run)
    return dead


def pool_holder(instance: dg.DagsterInstance) -> str | None:
    """The id of a run that holds a place in a pool, dead ones cleared away before; None if there is none."""
    clear_leftovers(instance)
    return next(iter(sorted(_holders(instance))), None)


def _holders(instance: dg.DagsterInstance) -> set[str]:
    storage = instance.event_log_storage
    pools = storage.get_concurrency_keys()
    return {slot.run_id for pool in pools for slot in storage.get_concurrency_info(pool).claimed_slots}


def _has_ended(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is None or run.is_finished


def _is_local(instance: dg.DagsterInstance) -> bool:
    """SQLite is one machine's, whatever name it goes by today: a laptop's changes with its network."""
    return type(instance.run_storage).__name__ == "SqliteRunStorage"


def _is_dead(tag: str, *, any_host: bool) -> bool:
    host, _, process = tag.rpartition(":")[0].rpartition(":")
    started = tag.rpartition(":")[2]
    if not process.isdigit() or not (any_host or host == platform.node()):
        return False
    try:
        return abs(psutil.Process(int(process)).create_time() - float(started)) > 1
    except (psutil.NoSuchProcess, ValueError):
        return True
    except psutil.AccessDenied:
        return False
