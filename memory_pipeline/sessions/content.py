"""One record → what was said in it: role, readable text, tool names. Nothing is redacted or cut here.

Content of any shape is read as far as it can be, for nothing about it is guaranteed once extensions, converters or
hand edits touched a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from memory_pipeline.sessions.framing import Record
from memory_pipeline.sessions.text import clean, placeholder, without_data_urls

CALL = "[calls {name}] {arguments}"
"""The line that a tool call becomes; ``transcript`` reads it back."""

ERROR = "[error] "
"""What stands before the reason where a model gave no answer; ``transcript`` leaves it out."""

COMMAND = "$ "
"""What stands before the command of a user's ``!`` command."""

_EVICTED = (
    "[Compacted history content evicted to durable cold storage]",
    "[Session persistence truncated large content]",
)
"""What forks of pi write where they took text out of a session file."""

_ROLES = {"toolResult": "tool", "bashExecution": "tool", "hookMessage": "custom"}
_KINDS = {"bashExecution": "bash_execution", "custom": "custom_message", "hookMessage": "custom_message"}
_SYNTHETIC = "synthetic_message"
_SUMMARIES = {"compactionSummary": "compaction", "branchSummary": "branch_summary"}
_LONGEST_NAME = 256

LONGEST_TEXT = 4 << 20
"""Characters of a message that are looked at, for text is copied several times on its way. No setting keeps more."""


@dataclass(frozen=True, slots=True)
class Content:
    """A message as memory-raw names it, cleaned of control signs."""

    role: str
    kind: str
    text: str
    left_out: int = 0
    """Characters that are missing in the middle of the text: it was longer than ``LONGEST_TEXT``."""
    tool_names: tuple[str, ...] = ()
    is_error: bool = False
    thinking_chars: int = 0
    model: str | None = None
    provider: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The short strings that go with the text."""
        return (self.role, *self.tool_names, *filter(None, (self.model, self.provider)))


def content_of(record: Record) -> Content:
    """The content of a record of type message (with a role), custom_message, compaction or branch_summary."""
    kind = record["type"]
    if kind in ("compaction", "branch_summary"):
        return Content("system", kind, *_clean(_string(record.get("summary"))))
    if kind == "custom_message":
        parts = _Parts(record.get("content"))
        return Content("custom", kind, *parts.text)
    message: dict[str, Any] = record["message"]
    role: str = message["role"]
    if role in _SUMMARIES:
        return Content("system", _SUMMARIES[role], *_clean(_string(message.get("summary"))))
    if role == "bashExecution":
        return _command(message)
    if role == "pythonExecution":  # of the fork omp
        return replace(_command({**message, "command": message.get("code")}), role=role, kind="message", tool_names=())
    parts = _Parts(message.get("content"))
    (text, left_out), is_error = parts.text, message.get("isError") is True
    names = parts.tool_names
    if role == "assistant":
        is_error = message.get("stopReason") == "error"
        if is_error and not text:
            text, left_out = _clean(ERROR + _string(message.get("errorMessage")))
    elif role == "toolResult":
        names = _names([message.get("toolName")])
    elif role == "system":
        text = "\n\n".join(filter(None, [text, *_sections(message.get("sections"))]))
    return Content(
        role=_ROLES.get(role, short(role)),
        kind=_SYNTHETIC if role == "user" and _is_synthetic(message) else _KINDS.get(role, "message"),
        text=text,
        left_out=left_out,
        tool_names=names,
        is_error=is_error,
        thinking_chars=parts.thinking_chars,
        model=short(_string(message.get("model"))) or None,
        provider=short(_string(message.get("provider"))) or None,
    )


def _is_synthetic(message: dict[str, Any]) -> bool:
    """Whether omp says that a program wrote what stands in the user's place."""
    return message.get("synthetic") is True or message.get("attribution") == "agent"


def is_evicted(text: str) -> bool:
    """Whether text was taken out of a message by the writer of its file."""
    return any(mark in text for mark in _EVICTED)


def short(text: str) -> str:
    """A name: one clean line of at most 256 characters."""
    return " ".join(clean(text[:_LONGEST_NAME]).split())


class _Parts:
    """The blocks of a ``content`` of any shape, read in order."""

    def __init__(self, content: object) -> None:
        self._texts: list[str] = []
        self._names: list[object] = []
        self.thinking_chars = 0
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, str):
                self._texts.append(block)
            elif isinstance(block, dict):
                self._take(block)

    @property
    def text(self) -> tuple[str, int]:
        """And how much of it is left out."""
        return _clean("\n".join(self._texts))

    @property
    def tool_names(self) -> tuple[str, ...]:
        return _names(self._names)

    def _take(self, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            self._texts.append(_string(block.get("text")))
        elif kind == "thinking":
            self.thinking_chars += len(_string(block.get("thinking")))
        elif kind == "toolCall":
            self._names.append(block.get("name"))
            name = short(_string(block.get("name"))) or "tool"
            self._texts.append(CALL.format(name=name, arguments=_json(block.get("arguments"))))
        elif isinstance(block.get("data"), str):
            # Images, and whatever else carries its bytes along.
            mime = short(_string(block.get("mimeType"))) or "of unknown type"
            self._texts.append(placeholder(short(_string(kind)) or "data", mime, block["data"]))


def _command(message: dict[str, Any]) -> Content:
    """What a user ran with ``!``: the command, its output, how it ended."""
    lines = [COMMAND + _string(message.get("command")), _string(message.get("output")).rstrip("\n")]
    exit_code = message.get("exitCode")
    failed = isinstance(exit_code, int) and exit_code != 0
    if failed:
        lines.append(f"[exit code {exit_code}]")
    if message.get("cancelled") is True:
        lines.append("[cancelled]")
    text, left_out = _clean("\n".join(filter(None, lines)))
    return Content("tool", "bash_execution", text, left_out, ("bash",), is_error=failed)


def _sections(sections: object) -> list[str]:
    """The named parts of a 1.x system prompt; None stands for one that was taken out."""
    if not isinstance(sections, dict):
        return []
    return [_clean(f"## {name}\n{text}")[0] for name, text in sections.items() if isinstance(text, str) and text]


def _names(values: list[object]) -> tuple[str, ...]:
    """The distinct tool names, in order."""
    return tuple(dict.fromkeys(name for value in values if (name := short(_string(value)))))


def _json(arguments: object) -> str:
    try:
        return json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    except RecursionError:
        return '"nested too deeply"'


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _clean(text: str) -> tuple[str, int]:
    """Text fit to be kept, and how many characters of its middle are left out: what is beyond LONGEST_TEXT."""
    left_out = 0
    if len(text) > LONGEST_TEXT:
        text = without_data_urls(text)  # a picture is long, but what stands for it is not
        left_out = max(0, len(text) - LONGEST_TEXT)
    if left_out:
        head = LONGEST_TEXT // 4 * 3
        text = text[:head] + text[head + left_out :]
    return without_data_urls(clean(text)), left_out
