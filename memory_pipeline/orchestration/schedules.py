"""By night: what the sensors miss by design (files restored with old times) or gave up on (failed turns)."""

from collections.abc import Iterator

import dagster as dg

from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.ingestion.planning import failed_sessions, plan_index, stretches, waiting_sessions
from memory_pipeline.ingestion.redoing import redone_unasked
from memory_pipeline.orchestration.assets import ENRICH_BATCH, INDEX_BATCH
from memory_pipeline.orchestration.jobs import ALIVE, ENRICH_JOB, enrich_sessions, index_sessions
from memory_pipeline.orchestration.partitions import add_keys, known_keys, range_tags
from memory_pipeline.orchestration.resources import Store
from memory_pipeline.orchestration.sensors import not_tried_since_change
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import store_exists

RETRIES_A_NIGHT = 20  # runs: the sensor, and with it every fresh session, waits until they have ended
ZONE = load_settings().zone


@dg.schedule(
    job=index_sessions,
    cron_schedule="0 3 * * *",
    execution_timezone=ZONE,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Compares all session files with the store and indexes what differs.",
)
def nightly_index(context: dg.ScheduleEvaluationContext, store: Store) -> Iterator[dg.RunRequest | dg.SkipReason]:
    try:
        files = Catalog(load_settings()).discovery.files
        with store.open() as opened:
            due = [file.session_id for file in plan_index(files, opened).due]
    except (InputError, StoreError) as error:
        yield dg.SkipReason(str(error))
        return
    order = add_keys(context.instance, due)
    yield from _requests(context, stretches(due, order, INDEX_BATCH), "every session file is indexed as it stands")


@dg.schedule(
    job=enrich_sessions,
    cron_schedule="30 3 * * *",
    execution_timezone=ZONE,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Tries again what failed; fresh turns are the sensor's.",
)
def nightly_enrich(context: dg.ScheduleEvaluationContext, store: Store) -> Iterator[dg.RunRequest | dg.SkipReason]:
    if context.instance.get_runs(filters=dg.RunsFilter(job_name=ENRICH_JOB, statuses=ALIVE), limit=1):
        yield dg.SkipReason("an enrich run is at work; what failed is tried again the night after")
        return
    settings = load_settings()
    failed: set[str] = set()
    try:
        if store_exists(settings):
            with store.open() as opened:
                redo = redone_unasked(opened, settings)
                fresh = waiting_sessions(opened, redo=redo, fresh_only=True).sessions
                failed.update(failed_sessions(opened))
            # A run that found no model at all leaves its turns fresh, and the sensor does not ask for them again.
            failed |= set(fresh) - set(not_tried_since_change(context.instance, fresh))
    except StoreError as error:
        yield dg.SkipReason(str(error))
        return
    found = stretches(failed, known_keys(context.instance), ENRICH_BATCH)
    yield from _requests(context, found[-RETRIES_A_NIGHT:], "nothing failed")


def _requests(
    context: dg.ScheduleEvaluationContext, found: list[list[str]], otherwise: str
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    day = context.scheduled_execution_time.date().isoformat()
    for stretch in found:
        yield dg.RunRequest(run_key=f"{day}:{stretch[0]}", tags=range_tags(stretch))
    if not found:
        yield dg.SkipReason(otherwise)
