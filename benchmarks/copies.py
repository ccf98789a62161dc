"""Session files of a labelled set written many times over, as sessions of their own: real wording in any amount.

Each copy has other ids, later times and other project folders, so that nothing of it counts as a fork's copy and no two
memories are the same text.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

LATER = timedelta(days=120)  # the set spans 113 days
_IDS = ("id", "parentId", "firstKeptEntryId", "fromId", "targetId")
_NAME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z_([0-9a-f-]{36})")


def write_copies(source: Path, target: Path, *, copies: int) -> None:
    """Write the session files in ``source/sessions`` to ``target``, ``copies`` times."""
    for path in sorted((source / "sessions").rglob("*.jsonl")):
        lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        for number in range(copies):
            folder = target / f"{path.parent.name.removesuffix('--')}-{number}--"
            folder.mkdir(parents=True, exist_ok=True)
            copy = folder / f"{_name(path.stem, number)}.jsonl"
            copy.write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in _copied(lines, number)))


def _copied(lines: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    header, *entries = lines
    later = {"timestamp": _later(header["timestamp"], number), "cwd": f"{header['cwd']}-{number}"}
    if "parentSession" in header:
        later["parentSession"] = _NAME.sub(lambda found: _name(found[0], number), header["parentSession"])
    yield {**header, **later, "id": _session_id(header["id"], number)}
    for entry in entries:
        copied = {**entry, "timestamp": _later(entry["timestamp"], number)}
        copied |= {name: _entry_id(entry[name], number) for name in _IDS if entry.get(name)}
        if "timestamp" in entry.get("message", ()):
            ms = entry["message"]["timestamp"] + number * LATER // timedelta(milliseconds=1)
            copied["message"] = {**entry["message"], "timestamp": ms}
        yield copied


def _name(name: str, number: int) -> str:
    day, hours, minutes, seconds, ms, session_id = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]
    later = _later(f"{day}T{hours}:{minutes}:{seconds}.{ms}Z", number)
    return f"{later.replace(':', '-').replace('.', '-')}_{_session_id(session_id, number)}"


def _later(timestamp: str, number: int) -> str:
    moment = datetime.fromisoformat(timestamp) + number * LATER
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _session_id(session_id: str, number: int) -> str:
    return str(uuid.UUID(int=uuid.UUID(session_id).int + number))


def _entry_id(entry_id: str, number: int) -> str:
    return hashlib.sha256(f"{number} {entry_id}".encode()).hexdigest()[:8]
