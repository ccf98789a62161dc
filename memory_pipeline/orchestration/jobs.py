"""The two jobs: index (files to searchable turns) and enrich (turns to memories with vectors)."""

from __future__ import annotations

import dagster as dg

INDEX_JOB = "index_sessions"
ENRICH_JOB = "enrich_sessions"

index_sessions = dg.define_asset_job(
    INDEX_JOB,
    selection=dg.AssetSelection.groups("index"),
    executor_def=dg.in_process_executor,
    tags={"dagster/priority": "10"},
    description="Read session files and make their turns searchable by keyword.",
)

enrich_sessions = dg.define_asset_job(
    ENRICH_JOB,
    selection=dg.AssetSelection.groups("enrich"),
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": str(4 * 3600)},
    description="Distil the turns that wait and embed their memories, one model call at a time.",
)
