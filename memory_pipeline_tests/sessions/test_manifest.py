from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from memory_pipeline.documents import Header, Problem
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import READER_VERSION, build_manifest, outline
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.sessions.logs import assistant, entry, header, user, write


def test_a_manifest_tells_what_was_seen(tmp_path: Path, redactor: Redactor) -> None:
    rows: list[Any] = [
        header(),
        user("a", None),
        assistant("b", "a"),
        "{torn",
        entry("session_info", "i", "b", name="A name"),
    ]
    rows[0]["parentSession"] = "/home/ann/.pi/agent/sessions/--p--/2026-01-01T00-00-00-000Z_s0.jsonl"
    file = write(tmp_path / "x.jsonl", *rows)
    seen = outline(file)

    assert build_manifest(file, seen, redactor, "laptop", "/project").model_dump() == {
        "doc_id": "s",
        "path": str(file.path),
        "format": "pi-v3",
        "header": Header(id="s1", version=3, timestamp="2026-01-01T00:00:00.000Z", cwd="/p").model_dump()
        | {"parent_session": rows[0]["parentSession"]},
        "name": "A name",
        "cwd": "/p",
        "project": "/project",
        "origin": "laptop",
        "started_at": "2026-01-01T00:00:01.000Z",
        "ended_at": "2026-01-01T00:00:01.000Z",
        "entries": 3,
        "messages": 2,
        "turns": 1,
        "branches": 1,
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "content_sha256": seen.content_sha256,
        "reader_version": READER_VERSION,
        "problems": [Problem(line=4, reason="no JSON").model_dump()],
        "problem_count": 1,
        "quarantine": None,
        "indexed_sha256": None,
        "grouped_sha256": None,
        "forked_from": "2026-01-01T00-00-00-000Z_s0",
        "secrets": [],
        "rules_version": None,
    }


def test_fifty_problems_are_shown_and_all_are_counted(tmp_path: Path, redactor: Redactor) -> None:
    file = write(tmp_path / "x.jsonl", header(), *["{torn"] * 3_000, user("a", None))
    manifest = build_manifest(file, outline(file), redactor, "o", "p")

    assert [problem.line for problem in manifest.problems] == list(range(2, 52))
    assert manifest.problem_count == 3_000


def test_every_text_of_a_manifest_is_redacted_and_clean(tmp_path: Path, redactor: Redactor) -> None:
    secret = fakes.token()
    head = header(id=f"h {secret}", cwd=f"/w\0/{secret}", parentSession=f"\x1b[1m{secret}")
    file = write(tmp_path / f"x {secret}.jsonl", head, entry("session_info", "i", None, name=f"\ud83d {secret}"))
    file = dataclasses.replace(file, session_id="s")
    text = build_manifest(file, outline(file), redactor, f"o {secret}", f"p {secret}").model_dump_json()

    assert secret not in text
    assert text.count("[redacted:github-pat:") == 8
