"""Session files line by line as pi writes them, and what faults do to a line. Each line knows what it holds."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[str, Any]

MARK = re.compile(r"mark\d{5}")
"""What each message's text begins with."""

_WORDS = (
    "port",
    "9090",
    "straße",
    "次",
    "tide gauge",
    '"quoted"',
    "back\\slash",
    "}{",
    '{"type":"message"',
    "😀",
    "[]",
)
_RAW_SIGNS = ("\u2028", "\u2029", "\u0085")  # JavaScript writes these as they are


@dataclass(frozen=True, slots=True)
class Message:
    """A message that must come out. ``text`` is its whole content, None where the fault changes some of it."""

    mark: str
    text: str | None


@dataclass(slots=True)
class Line:
    """One line of the file without its end. ``row`` is its record as long as a fault may still change it."""

    raw: bytes
    row: Row | None = None
    messages: tuple[Message, ...] = ()
    records: tuple[bytes, ...] = ()
    """The bytes of each record in it that is as pi wrote it, said or not: one that came before is a repetition."""
    named: bool = False
    """A reader must name it among the problems."""
    suspect: bool = False
    """A reader may name it."""


@dataclass(slots=True)
class Making:
    """A file in the making: its header, then entries, each the child of one before it."""

    chance: random.Random
    lines: list[Line] = field(default_factory=list)
    linked: bool = True
    """Not so in v1, where an entry has no id, and one that comes again looks like another."""

    def __post_init__(self) -> None:
        self.linked = self.chance.random() > 0.1
        header = {"type": "session", "version": 3, "id": "s1", "timestamp": as_time(0), "cwd": "/p"}
        if not self.linked:
            del header["version"]
        # Where faults put entries before it, a reader may say so.
        self.lines.append(replace(as_line(header), suspect=True))
        ids: list[str] = []
        for number in range(self.chance.randint(4, 40)):
            parent = None if not ids else self.chance.choice(ids) if self.chance.random() < 0.15 else ids[-1]
            # The first three speak for themselves, whatever becomes of the header.
            kind = "user" if number < 3 else self.chance.choice(_KINDS)
            line = as_entry(number, kind, parent, self.chance)
            if line.row and not self.linked:
                rewrite(line, {key: value for key, value in line.row.items() if key not in ("id", "parentId")})
            self.lines.append(line)
            ids.append(f"{number:08x}")

    def pick(self, *, said: bool = False, linked: bool = False) -> int | None:
        """Index of an entry that may be changed; ``said``: of one that is a message, ``linked``: that has an id.

        None where there is none left, or too few to be a session.
        """
        if linked and not self.linked:
            return None
        left = [i for i, line in enumerate(self.lines) if line.row is not None and line.row["type"] != "session"]
        if len(left) < 4:
            return None
        chosen = [i for i in left if self.lines[i].messages] if said else left
        return self.chance.choice(chosen) if chosen else None

    def whole_from(self, i: int) -> int:
        """Index behind the last of at most five lines from ``i`` on that hold one whole record each."""
        last = i
        while last < len(self.lines) and last - i < 5 and self.lines[last].records == (self.lines[last].raw,):
            last += 1
        return last


_FORGED: Row = {
    "id": "ffffffff",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "message": {"role": "user", "content": [{"type": "text", "text": "forged"}]},
}
_KINDS = ("user", "assistant", "toolResult", "custom_message", "compaction", "model_change", "label")


def as_entry(number: int, kind: str, parent: str | None, chance: random.Random) -> Line:
    text = f"mark{number:05d} " + " ".join(chance.choices(_WORDS, k=chance.randint(1, 12)))
    if chance.random() < 0.2:
        text += chance.choice(_RAW_SIGNS) + "after"
    if chance.random() < 0.01:
        text += " long" * 50_000
    row: Row = {"type": kind, "id": f"{number:08x}", "parentId": parent, "timestamp": as_time(number)}
    if kind in ("user", "assistant", "toolResult"):
        said: Row = {"role": kind, "content": [{"type": "text", "text": text}], "timestamp": 1767225600000 + number}
        if kind == "assistant":
            if chance.random() < 0.3:
                # What a tool was told to write is nothing that was said, however much of its line is lost.
                arguments = {"rows": [{"type": "message", **_FORGED}, _FORGED], "row": {"type": "message", **_FORGED}}
                said["content"].append({"type": "toolCall", "id": "c", "name": "write", "arguments": arguments})
                text += f"\n[calls write] {json.dumps(arguments)}"
            said |= {"provider": "p", "model": "m", "usage": {"input": 1, "cost": {"total": 0.5}}, "stopReason": "stop"}
        if kind == "toolResult":
            said |= {"toolCallId": "c", "toolName": "bash", "isError": False, "details": {"diff": [1, {"type": "x"}]}}
        row |= {"type": "message", "message": said}
    elif kind == "custom_message":
        row |= {"customType": "note", "content": text, "display": True}
    elif kind == "compaction":
        row |= {"summary": text, "firstKeptEntryId": "00000000", "tokensBefore": 9}
    else:
        return as_line(row | {"provider": "p", "modelId": "m", "targetId": parent})
    return as_line(row, Message(f"mark{number:05d}", text))


def as_time(number: int) -> str:
    return f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000Z"


def as_line(row: Row, *messages: Message) -> Line:
    raw = encoded(row)
    return Line(raw, row, messages, (raw,))


def encoded(row: Row) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r"[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", text).encode()


def rewrite(line: Line, row: Row) -> None:
    line.row, line.raw = row, encoded(row)
    line.records = (line.raw,)


def damage(line: Line, raw: bytes, *, exact: bool = False, named: bool = True) -> None:
    """Other bytes for a line whose messages still must come out; ``exact``: with their text as it was."""
    line.raw, line.row, line.records = raw, None, ()
    line.named = line.named or named
    if not exact:
        line.messages = tuple(Message(message.mark, None) for message in line.messages)


def copied(line: Line) -> Line:
    """The same line once more. From now on neither may be changed within, or they would be two records."""
    line.row = None
    return replace(line)


def cut_in(making: Making, raw: bytes) -> int:
    """Where to cut a record. Not right behind an object: if that is one of its values, nobody could tell any more."""
    cut = making.chance.randint(1, len(raw) - 1)
    return cut - 1 if raw[:cut].endswith(b"}") else cut


def joined(parts: list[Line], between: bytes = b"") -> Line:
    return Line(
        between.join(part.raw for part in parts),
        messages=tuple(message for part in parts for message in part.messages),
        records=tuple(record for part in parts for record in part.records),
        named=True,
    )


def into_text(line: Line, inserted: bytes) -> bytes:
    """The line with bytes put in behind its message's mark."""
    mark = line.messages[0].mark.encode()
    head, _, tail = line.raw.partition(mark)
    return head + mark + inserted + tail


def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from positions(part, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(value, list):
        return [put(part, rest, new) if i == key else part for i, part in enumerate(value)]
    return {name: put(part, rest, new) if name == key else part for name, part in value.items()}
