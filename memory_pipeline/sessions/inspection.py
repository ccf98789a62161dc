"""What is known of one session file without a store: its format, its tree, its problems, the secrets in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.documents import Problem
from memory_pipeline.errors import NotASession
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions.discovery import named_file
from memory_pipeline.sessions.files import open_regular
from memory_pipeline.sessions.manifest import build_manifest
from memory_pipeline.sessions.messages import contents
from memory_pipeline.sessions.outline import Outline, outline
from memory_pipeline.settings import Settings

EMPTY = "empty"
"""The format of a file that holds nothing yet, as pi leaves one that it was stopped in."""

_BLANK = b"\0\r\n\t "
_OWN_STARTS = (b'{"type":"session"', b'{"type":"title"')


@dataclass(frozen=True, slots=True)
class Inspection:
    """One file; every text is redacted. Counts are of entries, but for ``turns`` and ``messages``."""

    path: str
    session_id: str | None
    format: str
    version: int | None
    name: str | None
    cwd: str | None
    started_at: str | None
    ended_at: str | None
    entries: int
    messages: int
    turns: int
    active_path: int
    branches: int
    """Ends of the tree: 1 for a straight session."""
    parent_session: str | None
    problems: tuple[Problem, ...]
    """The first fifty of ``problem_count``."""
    problem_count: int
    redactions: int
    redactions_by_kind: Mapping[str, int]


def inspect_file(path: Path, redactor: Redactor, settings: Settings) -> Inspection:
    """Reads the file and nothing else. Raises NotASession for look-alikes, InputError where it cannot be read."""
    try:
        file = named_file(path, settings)
        seen = outline(file)
    except NotASession:
        if (problems := _nothing_yet(path)) is not None:
            return _empty(path, problems, redactor)
        raise
    known = build_manifest(file, seen, redactor, settings.origin, "")
    kinds = _redactions(seen, redactor)
    return Inspection(
        path=redactor.redact(str(path)).text,
        session_id=redactor.redact(file.session_id).text,
        format=known.format,
        version=known.header.version,
        name=known.name,
        cwd=known.cwd,
        started_at=known.started_at,
        ended_at=known.ended_at,
        entries=known.entries,
        messages=known.messages,
        turns=known.turns,
        active_path=sum(seen.tree.on_active_path),
        branches=known.branches,
        parent_session=known.header.parent_session,
        problems=tuple(known.problems),
        problem_count=known.problem_count,
        redactions=kinds.total(),
        redactions_by_kind=dict(sorted(kinds.items())),
    )


def _redactions(seen: Outline, redactor: Redactor) -> Counter[str]:
    """How many secrets of each kind are taken out of what the messages say."""
    secrets = redactor.session()
    for batch in contents(seen):
        secrets.learn([content.text for content in batch])
    kinds: Counter[str] = Counter()
    for batch in contents(seen):
        for redacted in secrets.redact([content.text for content in batch]):
            kinds.update(redacted.kinds)
    return kinds


def _nothing_yet(path: Path) -> tuple[Problem, ...] | None:
    """What is wrong with a file that holds nothing yet; None for one that holds something."""
    start = b""
    nul = False
    with open_regular(path) as stream:
        while not start and (block := stream.read(1 << 20)):
            nul = nul or b"\0" in block
            start = block.strip(_BLANK)
    if start and not _is_torn_header(start):
        return None
    if start:
        return (Problem(line=1, reason="header torn or not yet written to its end"),)
    return (Problem(line=1, reason="NUL bytes"),) if nul else ()


def _is_torn_header(text: bytes) -> bool:
    start = b"".join(text[:80].split())
    return b"\n" not in text and any(start.startswith(own) or own.startswith(start) for own in _OWN_STARTS)


def _empty(path: Path, problems: tuple[Problem, ...], redactor: Redactor) -> Inspection:
    return Inspection(
        path=redactor.redact(str(path)).text, session_id=None, format=EMPTY, version=None, name=None, cwd=None,
        started_at=None, ended_at=None, entries=0, messages=0, turns=0, active_path=0, branches=0, parent_session=None,
        problems=problems, problem_count=len(problems), redactions=0, redactions_by_kind={},
    )  # fmt: skip
