"""What Dagster remembers of past runs, as plain values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memory_pipeline.orchestration import leftovers
from memory_pipeline.orchestration.home import open_instance
from memory_pipeline.settings import Settings


def latest_runs(settings: Settings, limit: int) -> list[dict[str, Any]]:
    """The newest runs: id, job, status, started and ended (UTC, ISO 8601; None where not)."""
    with open_instance(settings) as instance:
        return [
            {
                "id": record.dagster_run.run_id,
                "job": record.dagster_run.job_name,
                "status": record.dagster_run.status.value,
                "started": _iso(record.start_time),
                "ended": _iso(record.end_time),
            }
            for record in instance.get_run_records(limit=limit)
        ]


def dead_runs(settings: Settings) -> list[str]:
    """Ids of runs that stand as being at work although their process is gone."""
    with open_instance(settings) as instance:
        return [run.run_id for run in leftovers.dead_runs(instance)]


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
