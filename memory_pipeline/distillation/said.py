"""What people and the assistant said in a turn: their own words, without what tools and extensions put there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_pipeline.documents import RawMessage, Trust
from memory_pipeline.sessions.content import CALL, ERROR


@dataclass(frozen=True, slots=True)
class Said:
    """The words of one message; ``doc_id`` is its id in memory-raw."""

    doc_id: str
    role: Trust
    text: str


def said(messages: Sequence[RawMessage]) -> list[Said]:
    """The user's and the assistant's words on the active path, in order; messages without words are left out."""
    return [one for message in messages for one in _said(message) if one.text.strip()]


def lowest_trust(roles: Iterable[Trust]) -> Trust:
    """The least trusted of the speakers: user before assistant before tool."""
    order: tuple[Trust, ...] = ("user", "assistant", "tool")
    return max(roles, key=order.index)


def _said(message: RawMessage) -> Iterator[Said]:
    if message.kind != "message" or not message.on_active_path:
        return
    if message.role == "user":
        yield Said(message.doc_id, "user", message.content)
    elif message.role == "assistant" and not (message.is_error and message.content.startswith(ERROR)):
        yield Said(message.doc_id, "assistant", _without_calls(message))


def _without_calls(message: RawMessage) -> str:
    """An assistant's message without the lines that its tool calls became."""
    names = [message.tool_name] if isinstance(message.tool_name, str) else message.tool_name or []
    calls = tuple(CALL.format(name=name, arguments="") for name in names)
    return "".join(line for line in message.content.splitlines(keepends=True) if not (calls and line.startswith(calls)))
