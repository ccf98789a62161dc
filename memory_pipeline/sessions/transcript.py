"""Messages of memory-raw → turns with a readable transcript, which is what models are shown and searches look in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from memory_pipeline.documents import RawMessage, SourceRef, Turn, digest
from memory_pipeline.sessions.content import COMMAND, ERROR
from memory_pipeline.sessions.recalled import without_recalled
from memory_pipeline.sessions.text import shorten

_OUTPUT_HEAD, _OUTPUT_TAIL = 3_000, 1_000
_ARGUMENTS = 1_000
_ROLES = ("user", "assistant", "tool")
_CALL = re.compile(r"\[calls ([^\]\n]+)\] (.*)")
_LABEL = re.compile(r"\n(?=(?:User(?: runs bash)?|Assistant(?: calls \S+)?|Tool(?: \S+)?):)")


def group_turns(messages: Iterable[RawMessage]) -> Iterator[Turn]:
    """The turns of one session from its messages in the order of (turn_index, message_index).

    Messages before the first turn are skipped. Holds one turn in memory, its tool output already shortened.
    """
    for turn_id, group in groupby(messages, key=lambda message: message.turn_id):
        turn = _turn(turn_id, group)
        if turn is not None:
            yield turn


class _Said(NamedTuple):
    """One message as the transcript tells it."""

    text: str
    ref: SourceRef
    role: str
    timestamp: str
    content_sha256: str
    on_active_path: bool


def _turn(turn_id: str, messages: Iterable[RawMessage]) -> Turn | None:
    first: RawMessage | None = None
    count = 0
    everything: list[_Said] = []
    for message in messages:
        if message.turn_index < 0:
            return None
        first = first or message
        count += 1
        if message.role in _ROLES:
            ref = SourceRef(session_id=message.session_id, turn_id=turn_id, doc_id=message.doc_id)
            everything.append(
                _Said(
                    _render(message),
                    ref,
                    message.role,
                    message.message_timestamp,
                    message.content_sha256,
                    message.on_active_path,
                )
            )
    user = next((said for said in everything if said.role == "user"), None)
    if first is None or user is None:
        return None
    # Answers that were taken back stay out of a turn that went on; a turn given up altogether keeps its own.
    told = [said for said in everything if said.on_active_path] if user.on_active_path else everything
    text = "\n".join(said.text for said in told if said.text)
    return Turn(
        doc_id=turn_id,
        session_id=first.session_id,
        turn_id=turn_id,
        turn_index=first.turn_index,
        project=first.project,
        origin=first.origin,
        source_refs=[said.ref for said in told],
        text=text,
        started_at=user.timestamp,
        ended_at=max(said.timestamp for said in told),
        message_count=count,
        fingerprint=digest(text),
        on_active_path=user.on_active_path,
        copy_key=digest(*(part for said in told for part in (said.timestamp, said.role, said.content_sha256))),
    )


def _render(message: RawMessage) -> str:
    """A message as lines that begin with who speaks; empty where nothing was said. What was recalled nobody said."""
    content = without_recalled(message.content).strip()
    if message.kind == "bash_execution":
        command = shorten(content.removeprefix(COMMAND), _OUTPUT_HEAD, _OUTPUT_TAIL)[0]
        return f"User runs bash: {_unlabelled(command)}"
    if message.role == "tool":
        name = f" {message.tool_name}" if isinstance(message.tool_name, str) else ""
        return f"Tool{name}: {_unlabelled(shorten(content, _OUTPUT_HEAD, _OUTPUT_TAIL)[0])}"
    if message.role == "user":
        return f"User: {_unlabelled(content)}" if content else ""
    if message.is_error and content.startswith(ERROR.strip()):
        return ""
    return "\n".join(_assistant(content, message.tool_name))


def _assistant(content: str, tool_name: str | list[str] | None) -> Iterator[str]:
    """The assistant's words and calls, in their order."""
    names = {tool_name} if isinstance(tool_name, str) else set(tool_name or ())
    words: list[str] = []
    for line in content.split("\n"):
        call = _CALL.fullmatch(line) if names else None
        if call is None or call[1] not in names:
            words.append(line)
            continue
        yield from _words(words)
        words = []
        yield f"Assistant calls {call[1]}: {shorten(call[2], _ARGUMENTS, 0)[0]}"
    yield from _words(words)


def _words(lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines).strip()
    if text:
        yield f"Assistant: {_unlabelled(text)}"


def _unlabelled(text: str) -> str:
    """The text with lines marked that look like the transcript's own labels: nobody speaks in another's name."""
    return _LABEL.sub("\n> ", text)
