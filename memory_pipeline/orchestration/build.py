"""The one place that puts the definitions together; tests and the command line swap a resource here."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from memory_pipeline.orchestration import assets, checks, jobs, schedules, sensors
from memory_pipeline.orchestration.reporting import LogReporter
from memory_pipeline.orchestration.resources import LlamaCpp, SessionLogs, Store


def build_definitions(resource_overrides: Mapping[str, object] | None = None) -> dg.Definitions:
    """All definitions; ``resource_overrides`` replace resources by key: logs, store, llama, reporter."""
    return dg.Definitions(
        assets=dg.load_assets_from_modules([assets]),
        asset_checks=checks.CHECKS,
        jobs=[jobs.index_sessions, jobs.enrich_sessions, checks.audit_memories],
        sensors=[sensors.session_file_sensor, sensors.enrich_sensor],
        schedules=[schedules.nightly_index, schedules.nightly_enrich],
        resources={
            "logs": SessionLogs(),
            "store": Store(),
            "llama": LlamaCpp(),
            "reporter": LogReporter(),
            **(resource_overrides or {}),
        },
        executor=dg.in_process_executor,
    )
