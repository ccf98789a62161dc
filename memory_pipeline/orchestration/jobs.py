"""The two jobs: index (files to searchable turns) and enrich (turns to memories with vectors)."""

from __future__ import annotations

import dagster as dg

INDEX_JOB = "index_sessions"
ENRICH_JOB = "enrich_sessions"
ALIVE = [  # not NOT_STARTED: a run killed at that point stays so, and would be waited for for ever
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

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
    description="Distil the turns that wait and embed their memories, one model call at a time.",
)
