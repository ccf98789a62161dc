"""Two sensors: files that are new or grown are indexed; sessions with turns that wait are enriched, newest first.

Both only look, call a pure decision of ``ingestion.planning`` and wrap its answer. Neither uses run keys: a key once
used suppresses its run for ever, after a failure too. The cursor is one integer, because it is stored with each tick.
"""

import time
from collections.abc import Collection, Iterator

import dagster as dg

from memory_pipeline.errors import InputError, MemoryPipelineError
from memory_pipeline.ingestion.planning import newest_stretch, settled, stretches, waiting_sessions
from memory_pipeline.ingestion.redoing import redone_unasked
from memory_pipeline.orchestration.assets import (
    ENRICH_BATCH,
    INDEX_BATCH,
    memory_summaries,
    summary_embeddings,
    turn_groups,
)
from memory_pipeline.orchestration.jobs import ALIVE, ENRICH_JOB, enrich_sessions, index_sessions
from memory_pipeline.orchestration.leftovers import clear_leftovers
from memory_pipeline.orchestration.partitions import SESSION_FILES, known_keys, range_tags
from memory_pipeline.orchestration.resources import Store
from memory_pipeline.sessions import list_files, session_file
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import store_exists

FILES_PER_TICK = 2_500  # 10 ranged runs: the requests of a tick are submitted one by one, and the sensor waits


@dg.sensor(
    job=index_sessions,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Indexes session files that are new or have grown, once they have been quiet for a while.",
)
def session_file_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    settings = load_settings()
    cleared = clear_leftovers(context.instance)
    try:
        listed = [(path, mtime) for path, _, mtime in list_files(settings)]
    except InputError as error:
        return dg.SkipReason(str(error))
    due, watermark = settled(
        listed,
        _integer(context.cursor),
        now_ns=time.time_ns(),
        settle_ns=int(settings.settle_seconds * 1e9),
        cap=FILES_PER_TICK,
    )
    keys = []
    for path in due:
        try:
            keys.append(session_file(path, settings).session_id)
        except (InputError, OSError):
            continue  # no session, or gone since: `memory-pipeline status` names what is left out
    if not keys:
        return dg.SensorResult(
            skip_reason=f"no new or grown session files; ended {len(cleared)} dead runs", cursor=str(watermark)
        )
    known = known_keys(context.instance)
    new = [key for key in dict.fromkeys(keys) if key not in set(known)]
    return dg.SensorResult(
        run_requests=[dg.RunRequest(tags=range_tags(stretch)) for stretch in stretches(keys, known + new, INDEX_BATCH)],
        dynamic_partitions_requests=[SESSION_FILES.build_add_request(new)] if new else [],
        cursor=str(watermark),
    )


@dg.sensor(
    job=enrich_sessions,
    minimum_interval_seconds=20,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Pulls the newest sessions with turns that wait into one enrich run at a time.",
)
def enrich_sensor(context: dg.SensorEvaluationContext, store: Store) -> dg.RunRequest | dg.SkipReason:
    instance = context.instance
    clear_leftovers(instance)
    if instance.get_runs(filters=dg.RunsFilter(job_name=ENRICH_JOB, statuses=ALIVE), limit=1):
        return dg.SkipReason("an enrich run is at work")
    settings = load_settings()
    try:
        if not store_exists(settings):
            return dg.SkipReason("nothing is indexed yet")
        with store.open() as opened:
            redo = redone_unasked(opened, settings)
            waiting = waiting_sessions(opened, redo=redo, fresh_only=True).sessions
    except MemoryPipelineError as error:
        return dg.SkipReason(str(error))
    order = known_keys(instance)
    in_order = set(order)
    untried = set(not_tried_since_change(instance, waiting))
    stretch = newest_stretch([key for key in waiting if key in untried and key in in_order], order, ENRICH_BATCH)
    if not stretch:
        return dg.SkipReason("no session waits that was not tried since its last change; failures are retried by night")
    return dg.RunRequest(tags=range_tags(stretch))


def not_tried_since_change(instance: dg.DagsterInstance, keys: Collection[str]) -> Iterator[str]:
    """Keys whose turns are newer than the last try, or whose last try succeeded and left turns for later.

    Level-triggered on its own, a broken model server would get a run every tick; so a failed try waits for the night.
    A try is of all tiers: one that failed at the vectors would be made again and again for the memories it did make.
    """
    planned_event = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
    made_event = dg.DagsterEventType.ASSET_MATERIALIZATION
    latest = instance.get_latest_storage_id_by_partition
    grouped = latest(turn_groups.key, made_event)
    tiers = (memory_summaries, summary_embeddings)
    tries = [(latest(tier.key, planned_event), latest(tier.key, made_event)) for tier in tiers]
    for key in keys:
        changed = grouped.get(key, -1) > max(planned.get(key, -1) for planned, _ in tries)
        if changed or all(made.get(key, -1) >= planned.get(key, -1) for planned, made in tries):
            yield key


def _integer(cursor: str | None) -> int:
    """The cursor's number; one that can't be read starts over, which costs a pass and changes nothing."""
    try:
        return int(cursor or 0)
    except ValueError:
        return 0
