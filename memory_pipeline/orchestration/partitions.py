"""One dynamic partition per session file, its key the session id, for the whole chain.

Keys are added in order of the files' last change and never removed: a session outlives its file, and a key that is
deleted and added again would move to the end of the order that ranges follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg

SESSION_FILES = dg.DynamicPartitionsDefinition(name="session_files")
ADD_CHUNK = 10_000  # SQLite builds with few variables fail above some 30,000 keys in one call

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


def known_keys(instance: dg.DagsterInstance) -> list[str]:
    """All keys in the order that ranges follow."""
    return list(instance.get_dynamic_partitions("session_files"))


def add_keys(instance: dg.DagsterInstance, keys: Iterable[str]) -> list[str]:
    """Add the keys that are new, in the order given; returns all keys in Dagster's order."""
    known = known_keys(instance)
    have = set(known)
    new = [key for key in dict.fromkeys(keys) if key not in have]
    for start in range(0, len(new), ADD_CHUNK):
        instance.add_dynamic_partitions("session_files", new[start : start + ADD_CHUNK])
    return known + new


def range_tags(stretch: Sequence[str]) -> dict[str, str]:
    """The run tags that select a contiguous stretch of keys."""
    return {RANGE_START: stretch[0], RANGE_END: stretch[-1]}
