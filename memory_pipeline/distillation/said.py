"""What people and the assistant said in a turn: their own words, without what tools and extensions put there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_pipeline.documents import RawMessage, Trust

TOOL_CALL_MARK = "→ "


@dataclass(frozen=True, slots=True)
class Said:
    """The words of one message; ``doc_id`` is its id in memory-raw."""

    doc_id: str
    role: Trust
    text: str


def said(messages: Sequence[RawMessage]) -> list[Said]:
    """The user's and the assistant's words on the active path, in order; messages without words are left out."""
    spoken: list[Said] = []
    for message in messages:
        if message.kind != "message" or not message.on_active_path:
            continue
        if message.role == "user":
            text = message.content
        elif message.role == "assistant":
            lines = message.content.splitlines(keepends=True)
            text = "".join(line for line in lines if not line.startswith(TOOL_CALL_MARK))
        else:
            continue
        if text.strip():
            spoken.append(Said(message.doc_id, "user" if message.role == "user" else "assistant", text))
    return spoken


def lowest_trust(roles: Iterable[Trust]) -> Trust:
    """The least trusted of the speakers: user before assistant before tool."""
    order: tuple[Trust, ...] = ("user", "assistant", "tool")
    return max(roles, key=order.index)
