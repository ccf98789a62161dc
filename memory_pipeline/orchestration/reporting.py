"""How assets report: per session to Dagster's materializations, meanwhile to whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import dagster as dg

from memory_pipeline.errors import EmbeddingMismatch, InputError, MemoryPipelineError, ModelOutage, StoreError
from memory_pipeline.ingestion.progress import Budget, Progress
from memory_pipeline.models.ahead import EmbedsAhead
from memory_pipeline.orchestration.leftovers import mark

Metadata = Mapping[str, int | float | str]

CONTAINED = "costs_only_this_session"
COMMAND_LINE_TAG = "memory_pipeline/command_line"
ENRICH_SECONDS = 900.0  # a run of the daemon gives way to newer sessions after this; the rest is left pending
LOG_EVERY = 30.0
RETRY_SECONDS = 30


class Reporter(Protocol):
    """Who watches a run, and how much the run may do."""

    def progress(self, context: dg.AssetExecutionContext, /) -> Progress: ...

    def budget(self, context: dg.AssetExecutionContext, /) -> Budget:
        """The budget of one run, its clock started."""
        ...

    def ahead(self) -> EmbedsAhead | None:
        """What makes vectors while turns are distilled; None where they are made after that only."""
        ...


class LogProgress:
    """Progress as lines in Dagster's log, a line for each note and at most one count in half a minute."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        self._log = context.log
        self._counts: dict[str, int] = {}
        self._last = time.monotonic()

    def expect(self, step: str, amount: int) -> None:
        pass  # a log has no use for totals that grow

    def advance(self, step: str, amount: int = 1) -> None:
        self._counts[step] = self._counts.get(step, 0) + amount
        if time.monotonic() - self._last >= LOG_EVERY:
            self._last = time.monotonic()
            self._log.info(", ".join(f"{step}: {count} done" for step, count in self._counts.items()))

    def note(self, sentence: str) -> None:
        self._log.warning(sentence)


class LogReporter:
    """For runs of the daemon and the UI."""

    def progress(self, context: dg.AssetExecutionContext) -> Progress:
        return LogProgress(context)

    def budget(self, context: dg.AssetExecutionContext) -> Budget:
        # The sensor tries each change once; what failed is the night's, or a person's who asks for it.
        return Budget(seconds=ENRICH_SECONDS, fresh_only="dagster/sensor_name" in context.run.tags)

    def ahead(self) -> EmbedsAhead | None:
        return None  # nobody waits for the daemon


def for_each_session(
    context: dg.AssetExecutionContext,
    progress: Progress,
    work: Callable[[str], Metadata],
    *,
    newest_first: bool = False,
) -> dg.MaterializeResult[None]:
    """Do ``work`` for every key of the run and attach what it returns to that key's materialization.

    A session that can't be read fails a run of its own, but of a batch only itself. An outage ends the run, as
    ``outages_told`` around the whole step has it.
    """
    keys = list(reversed(context.partition_keys) if newest_first else context.partition_keys)
    if not keys:
        raise dg.Failure(
            "This run selects no sessions: a range whose start lies after its end is empty. Start it again with keys "
            "in the order of the partitions page.",
            allow_retries=False,
        )
    mark(context.instance, context.run)
    for key in keys:
        started = time.perf_counter()
        try:
            counts = work(key)
        except InputError as error:
            if len(keys) == 1:
                raise dg.Failure(str(error), metadata={CONTAINED: True}, allow_retries=False) from None
            progress.note(str(error))
            counts = {"problems": 1, "problem": str(error)}
        except MemoryPipelineError:
            raise
        except Exception as error:  # a fault of ours costs this session, and is named
            sentence = (
                f"Session {key}: {type(error).__name__} in {context.asset_key.to_user_string()}; please report it"
            )
            if len(keys) == 1:
                raise dg.Failure(sentence, metadata={CONTAINED: True}, allow_retries=False) from error
            progress.note(sentence)
            counts = {"problems": 1, "problem": sentence}
        seconds = round(time.perf_counter() - started, 3)
        context.add_asset_metadata({**counts, "seconds": seconds}, partition_key=key)
    return dg.MaterializeResult()


@contextmanager
def outages_told(context: dg.AssetExecutionContext) -> Iterator[None]:
    """Around a step, from the opening of its store and models on: what ends it is one sentence, or tried once more."""
    try:
        yield
    except MemoryPipelineError as error:
        if _worth_a_retry(error, context):
            raise dg.RetryRequested(max_retries=1, seconds_to_wait=RETRY_SECONDS) from error
        raise dg.Failure(str(error), allow_retries=False) from None


def _worth_a_retry(error: MemoryPipelineError, context: dg.AssetExecutionContext) -> bool:
    """Only an outage may pass by itself, and a person at a terminal is told rather than kept waiting.

    No retry policy on the assets: it would start a run again that was interrupted on purpose.
    """
    outage = isinstance(error, ModelOutage | StoreError) and not isinstance(error, EmbeddingMismatch)
    return outage and context.retry_number == 0 and COMMAND_LINE_TAG not in context.run.tags
