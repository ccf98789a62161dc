"""Turns and their messages for tests: only what the engines look at."""

from __future__ import annotations

import hashlib

from memory_pipeline.documents import RawMessage, SourceRef, Turn

SESSION = "2026-05-04T10-11-12-345Z_0196aa00"
STARTED = "2026-05-04T10:11:12.345Z"


def message(
    role: str,
    content: str,
    *,
    index: int = 0,
    turn_index: int = 0,
    kind: str = "message",
    active: bool = True,
    tool_name: str | list[str] | None = None,
    is_error: bool = False,
) -> RawMessage:
    turn_id = Turn.make_id(SESSION, turn_index)
    return RawMessage(
        doc_id=RawMessage.make_id(SESSION, turn_id, index),
        session_id=SESSION,
        turn_id=turn_id,
        turn_index=turn_index,
        message_index=index,
        role=role,
        content=content,
        tool_name=tool_name,
        is_error=is_error,
        session_started_at=STARTED,
        message_timestamp=STARTED,
        on_active_path=active,
        kind=kind,
        cwd="/home/ada/harbour",
        project="/home/ada/harbour",
        origin="laptop",
        content_sha256=hashlib.sha256(content.encode()).hexdigest(),
    )


def dialogue(*said: tuple[str, str], turn_index: int = 0) -> list[RawMessage]:
    """The messages of one turn from (role, content) pairs."""
    return [message(role, text, index=i, turn_index=turn_index) for i, (role, text) in enumerate(said)]


def turn_of(messages: list[RawMessage], *, active: bool = True) -> Turn:
    first = messages[0]
    text = "\n\n".join(f"[{m.role}]\n{m.content}" for m in messages)
    return Turn(
        doc_id=first.turn_id,
        session_id=first.session_id,
        turn_id=first.turn_id,
        turn_index=first.turn_index,
        project=first.project,
        origin=first.origin,
        source_refs=[SourceRef(session_id=m.session_id, turn_id=m.turn_id, doc_id=m.doc_id) for m in messages],
        text=text,
        started_at=STARTED,
        ended_at=STARTED,
        message_count=len(messages),
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        on_active_path=active,
    )
