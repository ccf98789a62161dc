"""The chain as assets: session file → messages → turns → memories → vectors.

Index tiers come in large batches, so that everything is searchable by keyword within minutes; enrich tiers in small
ones, so that a fresh session never waits long behind a backlog. Descriptions here are what the UI shows.
"""

from datetime import UTC, datetime

import dagster as dg

from memory_pipeline.distillation import ExtractiveEngine, LlmEngine
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.distilling import distil_session, embed_session, text_to_embed, without_vector
from memory_pipeline.ingestion.indexing import build_turns, ingest_messages, record_session
from memory_pipeline.ingestion.redoing import redone_unasked
from memory_pipeline.orchestration.partitions import SESSION_FILES
from memory_pipeline.orchestration.reporting import Metadata, Reporter, for_each_session, outages_told
from memory_pipeline.orchestration.resources import LlamaCpp, SessionLogs, Store
from memory_pipeline.sessions import READER_VERSION
from memory_pipeline.settings import load_settings

INDEX_BATCH = 250  # more keys in a run start too slowly: Dagster plans each key of each asset before the first line
ENRICH_BATCH = 10
LLM_POOL = "llm"

_INDEX_POLICY = dg.BackfillPolicy.multi_run(INDEX_BATCH)
_ENRICH_POLICY = dg.BackfillPolicy.multi_run(ENRICH_BATCH)


@dg.asset(
    partitions_def=SESSION_FILES,
    group_name="index",
    kinds={"python"},
    code_version=READER_VERSION,
    backfill_policy=_INDEX_POLICY,
)
def raw_sessions(
    context: dg.AssetExecutionContext, logs: SessionLogs, store: Store, reporter: dg.ResourceParam[Reporter]
) -> dg.MaterializeResult[None]:
    """A session file as it was found: header, counts, problems by line, fingerprint of its content."""
    catalog = logs.catalog()
    with outages_told(context), store.open() as opened:

        def work(key: str) -> Metadata:
            file = catalog.find(key, opened)
            recorded = record_session(file, store=opened, redactor=catalog.redactor, settings=catalog.settings)
            manifest = recorded.manifest
            if manifest.quarantine:
                raise InputError(f"{manifest.path} is quarantined: {manifest.quarantine}")
            return {
                "path": manifest.path,
                "format": manifest.format,
                "entries": manifest.entries,
                "messages": manifest.messages,
                "turns": manifest.turns,
                "problems": manifest.problem_count,
                "changed": int(recorded.changed),
            }

        return for_each_session(context, reporter.progress(context), work)


@dg.asset(
    partitions_def=SESSION_FILES,
    deps=[raw_sessions],
    group_name="index",
    kinds={"python"},
    code_version=READER_VERSION,
    backfill_policy=_INDEX_POLICY,
)
def memory_raw(
    context: dg.AssetExecutionContext, logs: SessionLogs, store: Store, reporter: dg.ResourceParam[Reporter]
) -> dg.MaterializeResult[None]:
    """Every message of the session, redacted: the source of truth that all other tiers are built from."""
    catalog = logs.catalog()
    with outages_told(context), store.open() as opened:

        def work(key: str) -> Metadata:
            file = catalog.recorded(key, opened)
            done = ingest_messages(file, store=opened, redactor=catalog.redactor, settings=catalog.settings)
            return {
                "written": done.written,
                "unchanged": done.unchanged,
                "kept_richer": done.kept,
                "problems": len(done.refused),
            }

        return for_each_session(context, reporter.progress(context), work)


@dg.asset(
    partitions_def=SESSION_FILES,
    deps=[memory_raw],
    group_name="index",
    kinds={"python"},
    code_version=READER_VERSION,
    backfill_policy=_INDEX_POLICY,
)
def turn_groups(
    context: dg.AssetExecutionContext, store: Store, reporter: dg.ResourceParam[Reporter]
) -> dg.MaterializeResult[None]:
    """The session's turns as readable transcripts, searchable by keyword from here on."""
    progress = reporter.progress(context)
    with outages_told(context), store.open() as opened:

        def work(key: str) -> Metadata:
            done = build_turns(key, store=opened)
            progress.advance("index")
            return {
                "written": done.written,
                "unchanged": done.unchanged,
                "copies": done.copies,
                "problems": len(done.refused),
            }

        return for_each_session(context, progress, work)


@dg.asset(
    partitions_def=SESSION_FILES,
    deps=[turn_groups],
    group_name="enrich",
    kinds={"llamacpp"},
    code_version=f"{ExtractiveEngine.prompt_version}+{LlmEngine.prompt_version}",
    pool=LLM_POOL,
    backfill_policy=_ENRICH_POLICY,
)
def memory_summaries(
    context: dg.AssetExecutionContext, store: Store, llama: LlamaCpp, reporter: dg.ResourceParam[Reporter]
) -> dg.MaterializeResult[None]:
    """What is worth keeping of each turn, citing the messages it rests on. Turns that are done are never redone."""
    progress, budget, ahead = reporter.progress(context), reporter.budget(context), reporter.ahead()
    with outages_told(context), store.open() as opened, llama.engine() as engine:
        if budget.redo is None:
            budget.redo = frozenset(redone_unasked(opened, load_settings()))

        def work(key: str) -> Metadata:
            done = distil_session(key, store=opened, engine=engine, budget=budget, progress=progress, now=_now)
            if ahead is not None:
                ahead.expect([text_to_embed(summary) for summary in without_vector(key, opened)])
            return {
                "distilled": done.turns,
                "unchanged": done.unchanged,
                "reused": done.reused,
                "left_pending": done.left,
                "memories": done.memories,
                "turns_with_nothing": done.states.get("none", 0),
                "own_calls_left_out": done.states.get("own", 0),
                "problems": len(done.problems),
                "messages": done.messages,
                "prompt_tokens": done.prompt_tokens,
                "completion_tokens": done.completion_tokens,
                "engine_seconds": round(done.seconds, 3),
            }

        return for_each_session(context, progress, work, newest_first=True)


@dg.asset(
    partitions_def=SESSION_FILES,
    deps=[memory_summaries],
    group_name="enrich",
    kinds={"llamacpp"},
    backfill_policy=_ENRICH_POLICY,
)
def summary_embeddings(
    context: dg.AssetExecutionContext, store: Store, llama: LlamaCpp, reporter: dg.ResourceParam[Reporter]
) -> dg.MaterializeResult[None]:
    """The vector of each memory, so that it is found by its meaning too."""
    progress = reporter.progress(context)
    with outages_told(context), store.open() as opened, llama.embedder() as own:
        embedder = reporter.ahead() or own

        def work(key: str) -> Metadata:
            done = embed_session(key, store=opened, embedder=embedder, progress=progress)
            return {"embedded": done.memories, "embedder_seconds": round(done.seconds, 3)}

        return for_each_session(context, progress, work, newest_first=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
