"""Builds small session files, entry by entry, as pi writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import MessageContext, Outline, SessionFile, group_turns, messages, outline

Row = dict[str, Any]

CONTEXT = MessageContext(session_id="s", project="/p", origin="laptop", message_cap=1_048_576)


def header(**fields: Any) -> Row:
    return {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p", **fields}


def entry(kind: str, id: str, parent: str | None, **fields: Any) -> Row:
    return {"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", **fields}


def message(id: str, parent: str | None, role: str, content: Any, **fields: Any) -> Row:
    return entry("message", id, parent, message={"role": role, "content": content, **fields})


def user(id: str, parent: str | None, text: str = "question") -> Row:
    return message(id, parent, "user", [{"type": "text", "text": text}])


def assistant(id: str, parent: str | None, text: str = "answer", *calls: tuple[str, Any], **fields: Any) -> Row:
    blocks: list[Row] = [{"type": "text", "text": text}]
    blocks += [{"type": "toolCall", "id": f"c{i}", "name": n, "arguments": a} for i, (n, a) in enumerate(calls)]
    return message(id, parent, "assistant", blocks, **{"model": "m", "provider": "p", "stopReason": "stop"} | fields)


def result(id: str, parent: str | None, text: str = "output", tool: str = "bash", **fields: Any) -> Row:
    return message(id, parent, "toolResult", [{"type": "text", "text": text}], toolName=tool, toolCallId="c0", **fields)


def encode(*rows: Row | str | bytes) -> bytes:
    """Rows as lines; text and bytes are taken as they are, with a line end."""
    return b"".join(_line(row) + b"\n" for row in rows)


def _line(row: Row | str | bytes) -> bytes:
    if isinstance(row, bytes):
        return row
    return (row if isinstance(row, str) else json.dumps(row)).encode()


def write(path: Path, *rows: Row | str | bytes) -> SessionFile:
    return write_bytes(path, encode(*rows))


def write_bytes(path: Path, data: bytes) -> SessionFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    status = path.stat()
    return SessionFile(path, "s", status.st_size, status.st_mtime_ns)


def read(file: SessionFile, redactor: Redactor, context: MessageContext = CONTEXT) -> tuple[Outline, list[RawMessage]]:
    seen = outline(file)
    return seen, list(messages(seen, context, redactor))


def turns(found: Sequence[RawMessage]) -> list[Turn]:
    return list(group_turns(sorted(found, key=lambda m: (m.turn_index, m.message_index))))


def contents(found: Sequence[RawMessage]) -> list[str]:
    return [m.content for m in found]


def reasons(seen: Outline) -> list[tuple[int, str]]:
    return [(problem.line, problem.reason) for problem in seen.problems]
