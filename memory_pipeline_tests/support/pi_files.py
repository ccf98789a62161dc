"""Small pi session files, written line by line as pi writes them."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class SessionWriter:
    """Appends entries to one v3 session file; each append is on disk when it returns."""

    def __init__(self, folder: Path, *, cwd: str = "/home/ann/src/app", started: datetime = START) -> None:
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{folder}{started.isoformat()}{cwd}"))
        stamp = _iso(started).replace(":", "-").replace(".", "-")
        project = folder / f"--{cwd.strip('/').replace('/', '-')}--"
        project.mkdir(parents=True, exist_ok=True)
        self.path = project / f"{stamp}_{self.id}.jsonl"
        self._time = started
        self._parent: str | None = None
        self._count = 0
        self._append({"type": "session", "version": 3, "id": self.id, "timestamp": _iso(started), "cwd": cwd})

    @property
    def session_id(self) -> str:
        return self.path.stem

    def turn(self, user: str, *assistant: str) -> SessionWriter:
        """A user message and what the assistant said to it."""
        self.message({"role": "user", "content": [{"type": "text", "text": user}]})
        for text in assistant:
            self.message(
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": text}],
                    "api": "openai-completions",
                    "provider": "local",
                    "model": "model-1",
                    "usage": {},
                    "stopReason": "stop",
                }
            )
        return self

    def tool(self, name: str, output: str) -> SessionWriter:
        """A tool's result."""
        content = [{"type": "text", "text": output}]
        return self.message(
            {"role": "toolResult", "toolCallId": "call", "toolName": name, "content": content, "isError": False}
        )

    def compaction(self, summary: str) -> SessionWriter:
        """What pi writes where it sums the session up so far, to go on with less."""
        self._count += 1
        entry_id = f"{self._count:08x}"
        entry = {"type": "compaction", "id": entry_id, "parentId": self._parent, "timestamp": _iso(self._time)}
        self._append({**entry, "summary": summary, "firstKeptEntryId": self._parent, "tokensBefore": 9_000})
        self._parent = entry_id
        return self

    def back_to(self, number: int) -> SessionWriter:
        """Let the next entry follow the ``number``th message (from 1): what came after that is an abandoned branch."""
        self._parent = f"{number:08x}"
        return self

    def message(self, message: dict[str, Any]) -> SessionWriter:
        self._count += 1
        self._time += timedelta(seconds=20)
        entry_id = f"{self._count:08x}"
        stamp = int(self._time.timestamp() * 1000)
        self._append(
            {
                "type": "message",
                "id": entry_id,
                "parentId": self._parent,
                "timestamp": _iso(self._time),
                "message": {**message, "timestamp": stamp},
            }
        )
        self._parent = entry_id
        return self

    def _append(self, entry: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
