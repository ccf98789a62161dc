"""By night: what the sensors miss by design (files restored with old times) or gave up on (failed turns)."""

from collections.abc import Iterator

import dagster as dg

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.ingestion.planning import plan_index, stretches, waiting_sessions
from memory_pipeline.orchestration.assets import ENRICH_BATCH, INDEX_BATCH
from memory_pipeline.orchestration.jobs import enrich_sessions, index_sessions
from memory_pipeline.orchestration.partitions import add_keys, known_keys, range_tags
from memory_pipeline.orchestration.resources import Store
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import store_exists

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
    except InputError as error:
        yield dg.SkipReason(str(error))
        return
    with store.open() as opened:
        due = [file.session_id for file in plan_index(files, opened).due]
    order = add_keys(context.instance, due)
    yield from _requests(context, stretches(due, order, INDEX_BATCH), "every session file is indexed as it stands")


@dg.schedule(
    job=enrich_sessions,
    cron_schedule="30 3 * * *",
    execution_timezone=ZONE,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Tries again what failed, and whatever else waits.",
)
def nightly_enrich(context: dg.ScheduleEvaluationContext, store: Store) -> Iterator[dg.RunRequest | dg.SkipReason]:
    settings = load_settings()
    waiting: tuple[str, ...] = ()
    if store_exists(settings):
        with store.open() as opened:
            waiting = waiting_sessions(opened, redo_extracted=settings.distiller_kind == "llm").sessions
    yield from _requests(
        context, stretches(waiting, known_keys(context.instance), ENRICH_BATCH), "no session waits to be distilled"
    )


def _requests(
    context: dg.ScheduleEvaluationContext, found: list[list[str]], otherwise: str
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    day = context.scheduled_execution_time.date().isoformat()
    for stretch in found:
        yield dg.RunRequest(run_key=f"{day}:{stretch[0]}", tags=range_tags(stretch))
    if not found:
        yield dg.SkipReason(otherwise)
