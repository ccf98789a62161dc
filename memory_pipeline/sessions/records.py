"""What a record of a session file is: header, entry, or something that shows the file to be no pi session."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from memory_pipeline.sessions.framing import Record
from memory_pipeline.sessions.text import clean

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
ROLES = frozenset(
    {
        "user",
        "assistant",
        "toolResult",
        "bashExecution",
        "system",
        "custom",
        "hookMessage",
        "branchSummary",
        "compactionSummary",
        # of the fork omp
        "developer",
        "pythonExecution",
        "fileMention",
    }
)
_LONGEST_NAME = 128
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


_SIGNS = {
    b"<": "an HTML page",
    b"\x1f\x8b": "a gzip archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"PK\x03\x04": "a zip archive",
    b"SQLite format 3": "a database",
}
_A_PATH = re.compile(rb"[^\n{}\[\]\0]*/[^\n{}\[\]\0]*|[^\s{}\[\]\0]+\.jsonl")


def kind_of(record: Record) -> tuple[str, str | None]:
    """The type of an entry, and the role of its message where it has one."""
    kind: str = record["type"]
    message = record.get("message") if kind == "message" else None
    role = message.get("role") if isinstance(message, dict) else None
    return kind[:_LONGEST_NAME], (clean(role)[:_LONGEST_NAME] or None) if isinstance(role, str) else None


NO_SESSION = "holds no header or entry of pi's"


def look_alike(records: Iterable[Record]) -> str | None:
    """What a file is instead of a pi session, from records that are none of pi's; a sentence without its subject."""
    for record in records:
        kind = record.get("type")
        name = kind if isinstance(kind, str) else ""
        if "recordType" in record:
            return "is a subagent's transcript, not a session"
        if "traceSchema" in record:
            return "is a trajectory of OpenClaw's, not a session"
        if not name and "sessionId" in record and "role" in record and "content" in record:
            return "is a log of Command Code, not of pi"
        if "parentUuid" in record or ("sessionId" in record and name in ("user", "assistant", "summary")):
            return "is a log of Claude Code, not of pi"
        if record.get("kind") == "header" and "createdAt" in record:
            return "is a session of agent-core's experimental format, which pi never wrote"
        if name == "session" and "createdAt" in record:
            return "is a session of another agent, not of pi"
        if name.startswith(_EVENTS):
            return "is the output of pi in JSON mode, not a session"
    return None


def look_alike_bytes(start: bytes) -> str:
    """What a file without any record is, by its first bytes; a sentence without its subject."""
    text = start.strip(b"\0\r\n\t \xef\xbb\xbf")
    if not text:
        return "is empty"
    for sign, name in _SIGNS.items():
        if text.startswith(sign):
            return f"is {name}, not a session"
    if _A_PATH.fullmatch(text):
        return "holds only a path: a link that was checked out as text"
    if text.startswith((b"{", b"[")):
        return f"holds JSON, but {NO_SESSION.removeprefix('holds ')}"
    return f"is {'a binary' if _is_binary(text) else 'a text'} file: it {NO_SESSION}"


def _is_binary(text: bytes) -> bool:
    return b"\0" in text or len(text.decode(errors="ignore").encode()) < len(text) * 0.9


def shape(record: Record) -> Record:
    """As much of a record as ``look_alike`` needs, and no more of its content than short words."""
    return {
        key: value if isinstance(value, str) and len(value) < 64 else None for key, value in islice(record.items(), 64)
    }
