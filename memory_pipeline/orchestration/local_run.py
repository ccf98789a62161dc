"""The same jobs, run in this process and against the same instance: what ``memory-pipeline run`` does.

First everything is indexed, then sessions are enriched newest first; or sessions are distilled as they are indexed,
where distilling takes no longer than reading. Each try of a session happens once per call, so a session that keeps
failing can't keep the command from ending.
"""

from __future__ import annotations

import logging
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import dagster as dg
from dagster_shared.error import SerializableErrorInfo

from memory_pipeline.ingestion.planning import newest_stretch, stretches
from memory_pipeline.ingestion.progress import Budget
from memory_pipeline.orchestration.build import build_definitions
from memory_pipeline.orchestration.home import open_instance
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline.orchestration.leftovers import PROCESS_TAG, clear_leftovers, pool_holder, this_process
from memory_pipeline.orchestration.partitions import add_keys, range_tags
from memory_pipeline.orchestration.reporting import COMMAND_LINE_TAG, CONTAINED, Reporter
from memory_pipeline.settings import Settings

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_DISTILLED = dg.AssetKey("memory_summaries")
_EMBEDDED = dg.AssetKey("summary_embeddings")
_INTERRUPTED = ("DagsterExecutionInterruptedError", "KeyboardInterrupt")
INDEX_BATCH = 250
OVERLAPPED_BATCH = 50  # the model has nothing to do before the first of these is distilled
EMBEDDED_BEHIND = 6  # batches that wait for their vectors, which are held in memory (12 kB each)
LLM_BATCH = 10
POOL_POLL_SECONDS = 2.0
RUN_SECONDS = 600.0  # of distilling, before what it yielded is embedded and the newest session is looked for again
EXTRACTION_BATCH = 100  # extraction takes milliseconds a turn; what counts then is Dagster's cost per run


@dataclass(slots=True)
class LocalRuns:
    """What the runs of one call came to."""

    runs: int = 0
    cleared: int = 0
    contained: list[str] = field(default_factory=list)
    """Sentences about sessions that could not be read."""
    failures: list[str] = field(default_factory=list)
    """Sentences about what ended the work early: no model, no store, no space."""


def run_index(
    settings: Settings,
    session_ids: Iterable[str],
    reporter: Reporter,
    distils: Callable[[Sequence[str]], bool] | None = None,
) -> LocalRuns:
    """Index these sessions (ids in the order of their files' last change).

    ``distils`` says of sessions that were just indexed whether they are to be distilled now, and embedded while others
    are indexed; without it, or where that goes wrong, they are left for ``run_enrich``.
    """
    done = LocalRuns()
    wanted = list(session_ids)
    with open_instance(settings) as instance:
        done.cleared = len(clear_leftovers(instance))
        order = add_keys(instance, wanted)
        runs = stretches(wanted, order, INDEX_BATCH if distils is None else OVERLAPPED_BATCH)
        overlap = _Overlap(instance, reporter, distils) if distils is not None and len(runs) > 1 else None
        for stretch in runs:
            _execute(INDEX_JOB, stretch, instance, reporter, done)
            if done.failures:
                return done
            if overlap is not None:
                overlap.distil(stretch)
        if overlap is not None:
            overlap.embed_all()
    return done


class _Overlap:
    """Distils sessions between the runs that index, and lets their vectors be made meanwhile.

    What fails here is tried again, and told, by ``run_enrich``: it ends this, not the indexing.
    """

    def __init__(
        self, instance: dg.DagsterInstance, reporter: Reporter, distils: Callable[[Sequence[str]], bool]
    ) -> None:
        self._instance = instance
        self._reporter = reporter
        self._distils = distils
        self._behind: deque[list[str]] = deque()
        self._done = LocalRuns()

    def distil(self, stretch: list[str]) -> None:
        if self._done.failures or not self._distils(stretch) or pool_holder(self._instance) is not None:
            return
        self._run(stretch, _DISTILLED)
        if not self._done.failures:  # else a check may have found what must get no vector
            self._behind.append(stretch)
        if len(self._behind) > EMBEDDED_BEHIND:
            self._run(self._behind.popleft(), _EMBEDDED)

    def embed_all(self) -> None:
        while self._behind and not self._done.failures:
            self._run(self._behind.popleft(), _EMBEDDED)

    def _run(self, stretch: list[str], asset: dg.AssetKey) -> None:
        _execute(ENRICH_JOB, stretch, self._instance, self._reporter, self._done, only=asset)


def run_enrich(
    settings: Settings,
    waiting: Callable[[bool], tuple[str, ...]],
    reporter: Reporter,
    budget: Budget,
    say: Callable[[str], None],
) -> LocalRuns:
    """Enrich waiting sessions, newest first, until the budget is spent, nothing waits, or no model can be reached.

    ``waiting`` is asked again before each run (True: only for what has not failed before), so that sessions which come
    in meanwhile have their turn. ``budget``
    is the one that ``reporter`` hands out: it says which sessions a run left unfinished. ``say`` gets what a person
    who waits should know.
    """
    done = LocalRuns()
    batch = EXTRACTION_BATCH if settings.distiller_kind == "extractive" else LLM_BATCH
    with open_instance(settings) as instance:
        done.cleared = len(clear_leftovers(instance))
        for budget.fresh_only in (True, False):  # what failed before comes last: it may fail again, and end the run
            tried: set[str] = set()
            while not budget.spent and not done.failures:
                newest_first = [key for key in waiting(budget.fresh_only) if key not in tried]
                order = add_keys(instance, reversed(newest_first))
                stretch = newest_stretch(newest_first, order, batch)
                if not stretch:
                    break
                _wait_for_the_model(instance, say)
                _execute(ENRICH_JOB, stretch, instance, reporter, done)
                tried.update(set(stretch) - budget.left)
    return done


def _wait_for_the_model(instance: dg.DagsterInstance, say: Callable[[str], None]) -> None:
    """Wait while a run of the UI or the daemon has the model; Dagster itself would wait without a word."""
    holder = pool_holder(instance)
    if holder is not None:
        say(f"Run {holder[:8]} of Dagster's daemon is distilling; this one goes on when that has ended.")
    while pool_holder(instance) is not None:
        time.sleep(POOL_POLL_SECONDS)


def _cause(error: SerializableErrorInfo | None) -> str:
    """The sentence of our own error at the bottom of what Dagster wrapped around it."""
    while error is not None and error.cause is not None:
        error = error.cause
    if error is None:
        return "unknown"
    if error.cls_name == "DagsterAssetCheckFailedError":
        checks = " ".join(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", error.message.partition("\n")[2]))
        return (
            f"A check failed ({checks}), so the memories of these sessions get no vectors; memory-pipeline audit lists "
            "what is wrong, memory-pipeline hide ID takes one of them out."
        )
    return error.message.strip().removeprefix(f"memory_pipeline.errors.{error.cls_name}: ")


def _execute(
    job_name: str,
    stretch: list[str],
    instance: dg.DagsterInstance,
    reporter: Reporter,
    done: LocalRuns,
    *,
    only: dg.AssetKey | None = None,
) -> None:
    """Run a job, or one asset of it with its checks, over a stretch of keys; what failed goes into ``done``."""
    definitions = build_definitions({"reporter": reporter})
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)  # it prints a traceback for an interrupt
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dagster's, about its own beta features: nothing a user could act on
        try:
            result = definitions.resolve_job_def(job_name).execute_in_process(
                instance=instance,
                run_config=_QUIET,
                asset_selection=None if only is None else [only],
                tags={**range_tags(stretch), PROCESS_TAG: this_process(), COMMAND_LINE_TAG: "true"},
                raise_on_error=False,
            )
        except dg.DagsterExecutionInterruptedError:
            raise KeyboardInterrupt from None
    done.runs += 1
    known = len(done.failures) + len(done.contained)
    for event in result.all_events:
        if not event.is_step_failure:
            continue
        data = event.step_failure_data
        if data.error is not None and data.error.cls_name in _INTERRUPTED:
            raise KeyboardInterrupt
        failure = data.user_failure_data
        sentence = (failure.description if failure else None) or _cause(data.error)
        contained = failure is not None and CONTAINED in failure.metadata
        (done.contained if contained else done.failures).append(sentence.strip())
    run = instance.get_run_by_id(result.run_id)
    if (run is None or not run.is_success) and known == len(done.failures) + len(done.contained):
        raise KeyboardInterrupt  # nothing else ends a run between its steps: Dagster had held the signal back
