"""``memory-pipeline inspect``: files in, a table or JSON out, no store touched."""

from __future__ import annotations

import json
from pathlib import Path

from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, header, user, write, write_bytes
from memory_pipeline_tests.support.command import CommandLine

KEYS = {
    "path", "session_id", "format", "version", "entries", "turns", "active_path", "branches", "parent_session",
    "problems", "problem_count", "redactions", "redactions_by_kind",
}  # fmt: skip


def test_json_tells_each_file_and_no_store_is_made(command: CommandLine, tmp_path: Path) -> None:
    secret = fakes.token()
    folder = tmp_path / "logs"
    rows: list[Row | str] = [
        header(parentSession="/old.jsonl"),
        user("a", None, secret),
        "{torn",
        assistant("b", "gone"),
    ]
    write(folder / "broken_s1.jsonl", *rows)
    write_bytes(folder / "empty.jsonl", b"")
    write(folder / "only.jsonl", header())
    shown = command("inspect", "--json", str(folder / "only.jsonl"), str(folder))
    only, broken, empty, again = json.loads(shown.stdout)

    assert all(one.keys() >= KEYS for one in (only, broken, empty, again))
    assert only == again
    assert (only["path"], only["format"], only["turns"]) == (str(folder / "only.jsonl"), "pi-v3", 0)
    assert (empty["format"], empty["entries"]) == ("empty", 0)
    assert (broken["turns"], broken["active_path"], broken["branches"]) == (1, 2, 1)
    assert (broken["parent_session"], broken["redactions"]) == ("/old.jsonl", 1)
    assert [problem["line"] for problem in broken["problems"]] == [3, 4]
    assert broken["problem_count"] == 2
    assert secret not in shown.stdout + shown.stderr
    assert not (command.data / "memory.db").exists()


def test_a_table_shows_the_sessions_and_what_is_none_is_said_by_name(command: CommandLine, tmp_path: Path) -> None:
    good = write(tmp_path / "logs" / "[good]_s1.jsonl", header(), user("a", None), "{torn").path
    claude = write_bytes(
        tmp_path / "logs" / "claude.jsonl", encode({"type": "user", "parentUuid": None, "sessionId": "s"})
    ).path
    shown = command("inspect", str(claude), str(good), str(tmp_path / "nowhere.jsonl"), code=2)

    assert "[good]_s1.jsonl" in shown.stdout
    assert "line 3: no JSON" in shown.stdout
    assert "claude.jsonl is a log of Claude Code, not of pi" in shown.stderr
    assert "nowhere.jsonl does not exist" in shown.stderr


def test_a_folder_without_sessions_is_none(command: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    shown = command("inspect", "--json", str(tmp_path / "logs"), code=2)

    assert json.loads(shown.stdout) == []
    assert "holds no session files" in shown.stderr
