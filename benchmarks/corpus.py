"""Writes invented pi v3 session files of any number, like real ones in shape: ``python -m benchmarks.corpus DIR``.

The sizes follow real sessions: a few hundred characters from the user, several assistant messages with a tool call
each, and tool results with a heavy tail that make up most of a file. What the texts say is made in ``corpus_text``.
"""

from __future__ import annotations

import argparse
import os
import random
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from benchmarks.corpus_text import Project, TurnText, Wording

PROJECTS = 12
FIRST_START = datetime(2026, 1, 5, 7, tzinfo=UTC)
BETWEEN_STARTS = timedelta(hours=2)  # 3,000 sessions still lie within one year
MODEL = "invented-coder-30b"

# The system message of pi 1.x, which no memory may come from; about as long as pi's own.
_SECTIONS = {
    "preamble": "You help one person with their code: you read files, run commands and make changes.",
    "tools": "<tools>\n- read: show a file\n- bash: run a command\n- edit: change text\n- write: make a file\n</tools>",
    "rules": "<rules>\n" + "- Keep changes small and say which files were changed.\n" * 60 + "</rules>",
}
_TOOLS = ("bash", "bash", "bash", "bash", "read", "read", "edit", "edit", "edit", "write")


class _SessionWriter:
    """Collects the lines of one session; each entry is a child of the one before."""

    def __init__(self, rng: random.Random, start: datetime, cwd: str) -> None:
        self._rng = rng
        self._now_ms = int(start.timestamp() * 1_000) + rng.randrange(3_600_000)
        self._leaf: str | None = None
        self._ids: set[str] = set()
        self._context_tokens = 1_500
        self.lines: list[bytes] = []
        self.session_id = _uuid7(rng, self._now_ms)
        self.started = _iso(self._now_ms)
        header = {"type": "session", "version": 3, "id": self.session_id, "timestamp": self.started, "cwd": cwd}
        self.lines.append(orjson.dumps(header))
        self._entry("model_change", provider="local", modelId=MODEL)
        self._entry("thinking_level_change", thinkingLevel="medium")
        tools = [{"name": name, "description": name, "parameters": {"type": "object"}} for name in sorted(set(_TOOLS))]
        self._message(role="system", content="", sections=_SECTIONS, toolsAdded=tools, timestamp=self._now_ms)

    @property
    def ended(self) -> float:
        """Seconds since the epoch of the last entry."""
        return self._now_ms / 1_000

    def turn(self, text: TurnText, wording: Wording) -> None:
        """One user message, the tool calls and their results, the last answer."""
        rng = self._rng
        self._now_ms += rng.randrange(20_000, 240_000)
        self._message(role="user", content=[_text(text.ask)], timestamp=self._now_ms)
        calls = rng.randrange(0, 3) if text.routine else 1 + min(60, int(rng.lognormvariate(1.3, 0.9)))
        while calls > 0:
            at_once = min(calls, rng.choice((1, 1, 1, 2)))
            self._call_tools(at_once, text, wording)
            calls -= at_once
        self._answer([_text(text.outcome)], "stop")

    def _call_tools(self, count: int, text: TurnText, wording: Wording) -> None:
        rng = self._rng
        content: list[dict[str, Any]] = []
        if rng.random() < 0.3:
            content.append(
                {
                    "type": "thinking",
                    "thinking": wording.thought(text),
                    "thinkingSignature": rng.randbytes(120).hex(),
                }
            )
        if rng.random() < 0.5:
            content.append(_text(wording.talk(text)))
        calls = [self._call(rng.choice(_TOOLS), wording) for _ in range(count)]
        self._answer([*content, *calls], "toolUse")
        for call in calls:
            duration = rng.randrange(2, 4_000)
            self._now_ms += duration
            output, details = self._result(call, wording)
            self._message(
                role="toolResult",
                toolCallId=call["id"],
                toolName=call["name"],
                content=[_text(output)],
                **details,
                isError=rng.random() < 0.04,
                durationMs=duration,
                timestamp=self._now_ms,
            )

    def _call(self, tool: str, wording: Wording) -> dict[str, Any]:
        arguments: dict[str, Any]
        if tool == "bash":
            arguments = {"command": wording.command()}
        elif tool == "read":
            arguments = {"path": wording.path()}
        elif tool == "edit":
            old, new = wording.code(self._rng.randrange(1, 6)), wording.code(self._rng.randrange(1, 9))
            arguments = {"path": wording.path(), "edits": [{"oldText": old, "newText": new}]}
        else:
            arguments = {"path": wording.path(), "content": wording.code(self._rng.randrange(5, 60))}
        call_id = f"call_{self._now_ms}_{self._rng.randrange(10**6)}"
        return {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}

    def _result(self, call: dict[str, Any], wording: Wording) -> tuple[str, dict[str, Any]]:
        """What the tool shows, and its ``details`` where it has any."""
        arguments = call["arguments"]
        if call["name"] == "write":
            return f"Successfully wrote to {arguments['path']}", {}
        if call["name"] == "edit":
            edit = arguments["edits"][0]
            diff = "\n".join(f"{sign}{edit[side]}" for sign, side in (("-", "oldText"), ("+", "newText")))
            return f"Successfully replaced 1 block(s) in {arguments['path']}.", {
                "details": {"diff": diff, "firstChangedLine": self._rng.randrange(1, 400)}
            }
        length = int(min(20_000, 500 * self._rng.paretovariate(1.1)))
        return wording.output(call["name"], length), {}

    def _answer(self, content: list[dict[str, Any]], stop_reason: str) -> None:
        started = self._now_ms + self._rng.randrange(5, 60)
        tokens = len(orjson.dumps(content)) // 4
        duration = tokens * self._rng.randrange(10, 40) + 400
        self._now_ms = started + duration
        usage = {"input": self._context_tokens, "output": tokens, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0}
        usage["totalTokens"] = self._context_tokens + tokens
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "totalFromProvider": False}
        self._message(
            role="assistant",
            content=content,
            api="openai-completions",
            provider="local",
            model=MODEL,
            usage={**usage, "cost": cost},
            stopReason=stop_reason,
            timestamp=started,
            responseId=f"chatcmpl-{self._rng.randbytes(6).hex()}",
            rawStopReason="stop" if stop_reason == "stop" else "tool_calls",
            durationMs=duration,
            thinkingLevel="medium",
        )

    def _message(self, **message: Any) -> None:
        self._entry("message", message=message)

    def _entry(self, kind: str, **fields: Any) -> None:
        entry_id = self._rng.randbytes(4).hex()
        while entry_id in self._ids:
            entry_id = self._rng.randbytes(4).hex()
        self._ids.add(entry_id)
        entry = {"type": kind, "id": entry_id, "parentId": self._leaf, "timestamp": _iso(self._now_ms), **fields}
        line = orjson.dumps(entry)
        self._context_tokens = min(200_000, self._context_tokens + len(line) // 5)
        self.lines.append(line)
        self._leaf = entry_id


def write_corpus(folder: Path, *, sessions: int, turns: int, seed: int = 0) -> None:
    """Write ``sessions`` session files of ``turns`` turns each below ``folder``, laid out as pi does.

    Session n is the same whatever the number of sessions. Each file's modification time is that of its last entry, in
    2026, so that it counts as long since finished. Raises OSError where the folder can't be written.
    """
    projects = [Project(seed, number) for number in range(PROJECTS)]
    for number in range(sessions):
        rng = random.Random(f"{seed}/session/{number}")
        project = projects[number % PROJECTS]
        cwd = f"/home/bench/code/{project.name}"
        writer = _SessionWriter(rng, FIRST_START + number * BETWEEN_STARTS, cwd)
        wording = Wording(project, rng)
        for _ in range(turns):
            writer.turn(wording.turn(), wording)
        target = folder / f"--{cwd[1:].replace('/', '-')}--"
        target.mkdir(parents=True, exist_ok=True)
        path = target / f"{writer.started.replace(':', '-').replace('.', '-')}_{writer.session_id}.jsonl"
        path.write_bytes(b"\n".join(writer.lines) + b"\n")
        os.utime(path, (writer.ended, writer.ended))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description="Write invented pi sessions.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="sessions folder to write into")
    parser.add_argument("--sessions", type=int, default=300, help="number of session files (default: 300)")
    parser.add_argument("--turns", type=int, default=10, help="turns in each session (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes another corpus (default: 0)")
    arguments = parser.parse_args()
    if arguments.sessions < 1 or arguments.turns < 1:
        parser.error("--sessions and --turns must be at least 1")
    try:
        write_corpus(arguments.folder, sessions=arguments.sessions, turns=arguments.turns, seed=arguments.seed)
    except OSError as error:
        parser.error(f"cannot write {error.filename}: {error.strerror}")
    print(f"{arguments.sessions} sessions of {arguments.turns} turns in {arguments.folder}")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _uuid7(rng: random.Random, milliseconds: int) -> str:
    """A UUID of version 7 for this time, from the random source (``uuid`` has none before Python 3.14)."""
    number = milliseconds << 80 | rng.getrandbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62))


if __name__ == "__main__":
    main()
