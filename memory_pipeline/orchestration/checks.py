"""The audit as asset checks: of a run's sessions within the run, of the whole store when a check is started by itself.

What must not reach a search blocks the tier that would bring it there; all else is told and harms nothing.
"""

import dagster as dg

from memory_pipeline.ingestion.auditing import Finding, audit
from memory_pipeline.orchestration.assets import memory_summaries, summary_embeddings
from memory_pipeline.orchestration.partitions import RANGE_END, RANGE_START, known_keys
from memory_pipeline.orchestration.resources import Store

PARTITION = "dagster/partition"
AUDIT_JOB = "audit_memories"


@dg.asset_check(
    asset=memory_summaries,
    blocking=True,
    description="Every memory cites messages that are stored, and says what they bear out.",
)
def memories_are_grounded(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    return _result(context, store, ("ungrounded", "orphans", "off_path"))


@dg.asset_check(asset=memory_summaries, description="Few memories repeat others or are no memories at all.")
def memories_are_worth_keeping(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    return _result(context, store, ("junk", "duplicates", "stale"), severity=dg.AssetCheckSeverity.WARN)


@dg.asset_check(asset=memory_summaries, description="Few turns that were tried came to no outcome.")
def turns_are_distilled(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    return _result(context, store, ("failures",))


@dg.asset_check(asset=summary_embeddings, description="Every memory has a vector, so that its meaning is found.")
def memories_have_vectors(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    return _result(context, store, ("missing_vectors",))


CHECKS = [memories_are_grounded, memories_are_worth_keeping, turns_are_distilled, memories_have_vectors]

audit_memories = dg.define_asset_job(
    AUDIT_JOB,
    selection=dg.AssetSelection.all_asset_checks(),
    executor_def=dg.in_process_executor,
    description="Checks the whole store, as `memory-pipeline audit` does.",
)


def _result(
    context: dg.AssetCheckExecutionContext,
    store: Store,
    names: tuple[str, ...],
    *,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetCheckResult:
    with store.open() as opened:
        audited = audit(opened, sessions=_sessions(context), only=names)
    found = [audited[name] for name in names]
    failed = [finding for finding in found if not finding.passed]
    return dg.AssetCheckResult(
        passed=not failed,
        severity=severity,
        description="; ".join(map(_sentence, failed)) or None,
        metadata={finding.name: finding.count for finding in found}
        | {f"{finding.name}_examples": [doc_id for doc_id, _ in finding.examples] for finding in failed},
    )


def _sessions(context: dg.AssetCheckExecutionContext) -> list[str] | None:
    """The sessions of the run; None where it is about none in particular."""
    tags = context.run.tags
    if (key := tags.get(PARTITION)) is not None:
        return [key]
    if RANGE_START not in tags:
        return None
    keys = known_keys(context.instance)
    return keys[keys.index(tags[RANGE_START]) : keys.index(tags[RANGE_END]) + 1]


def _sentence(finding: Finding) -> str:
    """Counts and what they are of; never a word of a memory."""
    return f"{finding.count} of {finding.of} {finding.meaning} (limit {finding.limit})"
