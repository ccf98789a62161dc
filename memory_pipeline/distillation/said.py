"""What people and the assistant said in a turn: their own words, without what tools and extensions put there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_pipeline.distillation.pasted import without_pasted
from memory_pipeline.documents import RawMessage, Trust
from memory_pipeline.sessions.content import CALL, ERROR
from memory_pipeline.sessions.recalled import without_recalled
from memory_pipeline.settings import RECALLED_BLOCKS

OWN_PROMPTS = ("You read one turn of a work session between a user and a coding assistant",)
"""How the pipeline's own instructions begin, now and in earlier versions: a session that was given them is its own."""


@dataclass(frozen=True, slots=True)
class Said:
    """The words of one message; ``doc_id`` is its id in memory-raw."""

    doc_id: str
    role: Trust
    text: str


def said(messages: Sequence[RawMessage], blocks: Collection[str] = RECALLED_BLOCKS) -> list[Said]:
    """The user's and the assistant's words on the active path, in order; messages without words are left out.

    Recalled and pasted text is taken out. Nothing is said in the pipeline's own calls, and custom messages, summaries
    of compactions and branches, and system prompts are nobody's words at all.
    """
    if is_own_session(messages):
        return []
    return [one for message in messages for one in _said(message, blocks) if one.text.strip()]


def heard(messages: Sequence[RawMessage], blocks: Collection[str] = RECALLED_BLOCKS) -> list[Said]:
    """What only tools read or printed on the active path, in order: output, the assistant's calls, pasted text.

    Nothing of it is a memory by itself; names are checked against it. The role of calls is ``assistant``.
    """
    return [one for message in messages for one in _heard(message, blocks) if one.text.strip()]


def is_own_session(messages: Sequence[RawMessage]) -> bool:
    """Whether these are messages of a session in which the pipeline itself asked a model."""
    return any(
        message.role in ("user", "system", "custom") and message.content.lstrip().startswith(OWN_PROMPTS)
        for message in messages
    )


def lowest_trust(roles: Iterable[Trust]) -> Trust:
    """The least trusted of the speakers: user before assistant before tool."""
    order: tuple[Trust, ...] = ("user", "assistant", "tool")
    return max(roles, key=order.index)


def _said(message: RawMessage, blocks: Collection[str]) -> Iterator[Said]:
    if message.kind != "message" or not message.on_active_path:
        return
    if message.role == "user":
        yield Said(message.doc_id, "user", without_pasted(without_recalled(message.content, blocks)))
    elif message.role == "assistant" and not (message.is_error and message.content.startswith(ERROR)):
        yield Said(message.doc_id, "assistant", without_recalled(_without_calls(message), blocks))


def _heard(message: RawMessage, blocks: Collection[str]) -> Iterator[Said]:
    if not message.on_active_path:
        return
    if message.role == "tool":
        yield Said(message.doc_id, "tool", without_recalled(message.content, blocks))
    elif message.role == "assistant":
        calls = _calls(message)
        written = "".join(line for line in message.content.splitlines(True) if calls and line.startswith(calls))
        # Arguments are JSON: what they hold of text reads as text again.
        plain = written.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        yield Said(message.doc_id, "assistant", without_recalled(plain, blocks))
    elif message.role == "user" and message.kind == "message":
        whole = without_recalled(message.content, blocks)
        if without_pasted(whole) != whole:
            yield Said(message.doc_id, "tool", whole)


def _without_calls(message: RawMessage) -> str:
    """An assistant's message without the lines that its tool calls became."""
    calls = _calls(message)
    return "".join(line for line in message.content.splitlines(keepends=True) if not (calls and line.startswith(calls)))


def _calls(message: RawMessage) -> tuple[str, ...]:
    names = [message.tool_name] if isinstance(message.tool_name, str) else message.tool_name or []
    return tuple(CALL.format(name=name, arguments="") for name in names)
