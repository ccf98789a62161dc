"""What the daemon does, one tick or one run at a time and in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from memory_pipeline.orchestration.build import build_definitions
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline.orchestration.partitions import RANGE_END, RANGE_START, known_keys
from memory_pipeline.orchestration.resources import Store
from memory_pipeline.orchestration.schedules import nightly_enrich, nightly_index
from memory_pipeline.orchestration.sensors import enrich_sensor, session_file_sensor
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.support.pi_files import SessionWriter
from memory_pipeline_tests.support.scripted_server import error

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
DOWN = error("loading", 503, headers={"Retry-After": "0"})
"""What a server says that is not there yet; asked to come back at once, or each test would take seconds."""
NIGHT = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)


@dataclass(slots=True)
class Workplace:
    """A sessions folder and the instance that is at work on it; the store is that of the settings."""

    instance: dg.DagsterInstance
    sessions: Path

    @property
    def keys(self) -> list[str]:
        """All partitions in the order of ranges."""
        return known_keys(self.instance)

    @contextmanager
    def store(self) -> Iterator[MemoryStore]:
        with open_store(load_settings()) as opened:
            yield opened

    def session(self, name: str, *, age: float = 3_600) -> SessionWriter:
        """A session of one turn in a project of its own, last written to ``age`` seconds ago."""
        writer = SessionWriter(self.sessions, cwd=f"/home/ann/src/{name}").turn(
            f"Where do the logs of {name} go?",
            f"They go to `/var/log/{name}.log`, because `journald` drops lines of {name} under load.",
        )
        set_age(writer.path, age)
        return writer

    def file_tick(self, cursor: str | None = None) -> FileTick:
        """Evaluate the file sensor; new partitions are added as the daemon would."""
        with dg.build_sensor_context(instance=self.instance, cursor=cursor) as context:
            found = session_file_sensor(context)
        if isinstance(found, dg.SkipReason):
            return FileTick([], cursor, found.skip_message)
        assert isinstance(found, dg.SensorResult)
        for request in found.dynamic_partitions_requests or ():
            assert isinstance(request, dg.AddDynamicPartitionsRequest)
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        requests = list(found.run_requests or ())
        skipped = found.skip_reason.skip_message if isinstance(found.skip_reason, dg.SkipReason) else found.skip_reason
        return FileTick([self.stretch(request) for request in requests], found.cursor, skipped)

    def enrich_tick(self) -> list[str] | str:
        """Evaluate the enrich sensor: the keys that it requests, or why it requests none."""
        with dg.build_sensor_context(instance=self.instance, resources={"store": Store()}) as context:
            found = enrich_sensor(context)
        if isinstance(found, dg.SkipReason):
            return str(found.skip_message)
        assert isinstance(found, dg.RunRequest)
        assert found.run_key is None
        return self.stretch(found)

    def night(self, job: str, at: datetime = NIGHT) -> list[dg.RunRequest | dg.SkipReason]:
        """Evaluate the job's nightly schedule."""
        schedule = {INDEX_JOB: nightly_index, ENRICH_JOB: nightly_enrich}[job]
        with dg.build_schedule_context(
            instance=self.instance, scheduled_execution_time=at, resources={"store": Store()}
        ) as context:
            return list(schedule(context))  # type: ignore[arg-type]

    def stretch(self, request: dg.RunRequest) -> list[str]:
        """The keys of a ranged request, of which both ends are known."""
        assert request.partition_key is None
        keys = self.keys
        return keys[keys.index(request.tags[RANGE_START]) : keys.index(request.tags[RANGE_END]) + 1]

    def run(
        self,
        job: str,
        *keys: str,
        tags: Mapping[str, str] | None = None,
        resources: Mapping[str, object] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Run a job in this process: over one key, or over the stretch from the first to the last."""
        self.instance.add_dynamic_partitions("session_files", [key for key in keys if key not in self.keys])
        ranged = {RANGE_START: keys[0], RANGE_END: keys[-1]} if len(keys) > 1 else {}
        return (
            build_definitions(resources)
            .resolve_job_def(job)
            .execute_in_process(
                instance=self.instance,
                partition_key=keys[0] if len(keys) == 1 else None,
                tags={**ranged, **(tags or {})},
                run_config=_QUIET,
                raise_on_error=False,
            )
        )

    def metadata(self, asset: str, key: str) -> dict[str, Any]:
        """Label → value of the asset's latest materialization for the key; empty where there is none."""
        records = self.instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[key]), limit=1
        ).records
        if not records:
            return {}
        made = records[0].asset_materialization
        assert made is not None
        return {label: entry.value for label, entry in made.metadata.items()}


@dataclass(frozen=True, slots=True)
class FileTick:
    """The stretches that the file sensor requests, its cursor after the tick, and why it requests none."""

    stretches: list[list[str]]
    cursor: str | None
    skipped: str | None


def set_age(path: Path, seconds: float) -> None:
    """Let a file have been written to so long ago."""
    then = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(then, then))


def failures(result: dg.ExecuteInProcessResult) -> list[str]:
    """What the steps that failed say."""
    return [
        data.user_failure_data.description or ""
        for event in result.all_events
        if event.is_step_failure and (data := event.step_failure_data).user_failure_data
    ]
