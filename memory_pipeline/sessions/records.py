"""What a record of a session file is: header, entry, or something that shows the file to be no pi session."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from memory_pipeline.sessions.framing import Record

ENTRY_TYPES = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "usage",
        "context_edit",
        # of the fork omp
        "title_change",
        "model_usage",
        "service_tier_change",
        "ttsr_injection",
        "credential_pin",
        "session_init",
        "mode_change",
        "reset_boundary",
    }
)
_EVENTS = ("agent_", "turn_", "message_start", "message_update", "message_end", "tool_execution_", "queue_")


def is_header(record: Record) -> bool:
    return record.get("type") == "session" and "createdAt" not in record


def is_title(record: Record) -> bool:
    """omp's title slot: the first line, overwritten in place."""
    return record.get("type") == "title"


def is_known_entry(record: Record) -> bool:
    kind = record.get("type")
    return isinstance(kind, str) and kind in ENTRY_TYPES


def is_entry(record: Record) -> bool:
    """An entry of pi's by its type, or one of an unknown type that is linked into the tree like one."""
    return is_known_entry(record) or (isinstance(record.get("type"), str) and "id" in record and "parentId" in record)


NO_SESSION = "holds no header or entry of pi's"


def look_alike(records: Iterable[Record]) -> str | None:
    """What a file is instead of a pi session, from records that are none of pi's; a sentence without its subject."""
    for record in records:
        kind = record.get("type")
        name = kind if isinstance(kind, str) else ""
        if "recordType" in record:
            return "is a subagent's transcript, not a session"
        if "parentUuid" in record or ("sessionId" in record and name in ("user", "assistant", "summary")):
            return "is a log of Claude Code, not of pi"
        if record.get("kind") == "header" and "createdAt" in record:
            return "is a session of agent-core's experimental format, which pi never wrote"
        if name == "session" and "createdAt" in record:
            return "is a session of another agent, not of pi"
        if name.startswith(_EVENTS):
            return "is the output of pi in JSON mode, not a session"
    return None


def shape(record: Record) -> Record:
    """As much of a record as ``look_alike`` needs, and no more of its content than short words."""
    return {
        key: value if isinstance(value, str) and len(value) < 64 else None for key, value in islice(record.items(), 64)
    }
