"""Runs whose process is gone: a kill -9 or a power cut leaves them started for ever and their pool slot claimed.

Dagster's default launcher has no health check, and runs made by the command line are nobody's to watch. So every run
carries the process that does its work, and whoever starts next (the command line or a sensor) ends what is dead.
"""

from __future__ import annotations

import os
import platform

import dagster as dg
import psutil

PROCESS_TAG = "memory_pipeline/process"
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
    """Fail the runs of this host whose process is gone and free what they held; returns their ids."""
    dead = dead_runs(instance)
    for run in dead:
        instance.report_run_failed(run, "The process that worked on this run is gone; what it had done is kept.")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in dead]


def dead_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Runs that stand as being at work, on this host, whose process is gone."""
    at_work = instance.get_runs(filters=dg.RunsFilter(statuses=_AT_WORK))
    return [run for run in at_work if _is_dead(run.tags.get(PROCESS_TAG, ""))]


def _is_dead(tag: str) -> bool:
    host, _, process = tag.rpartition(":")[0].rpartition(":")
    started = tag.rpartition(":")[2]
    if host != platform.node() or not process.isdigit():
        return False
    try:
        return abs(psutil.Process(int(process)).create_time() - float(started)) > 1
    except (psutil.NoSuchProcess, ValueError):
        return True
    except psutil.AccessDenied:
        return False
