"""Each program that writes pi's sessions, as it lays out its files and fills them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.errors import NotASession
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import discover, list_files, session_file
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline_tests.sessions.logs import (
    Row,
    assistant,
    contents,
    encode,
    entry,
    header,
    message,
    read,
    reasons,
    result,
    turns,
    user,
    write,
)

UUID = "019e1111-2222-7333-8444-555555555555"
OTHER = "019e1111-2222-7333-8444-666666666666"


def ids(settings: Settings) -> list[str]:
    found = discover(settings)
    assert found.problems == ()
    return sorted(file.session_id for file in found.files)


def under(root: Path, **more: Any) -> Settings:
    return load_settings(env_file=None, sessions_dir=root, **more)


def session(path: Path, id: str = UUID, *rows: Row, **fields: Any) -> Path:
    return write(path, header(id=id, **fields), *(rows or (user("a", None), assistant("b", "a")))).path


# --- where files are ---


def test_pi_s_own_layout(tmp_path: Path) -> None:
    agent = tmp_path / ".pi" / "agent"
    session(
        agent / "sessions" / "--home-ann-my app--" / f"2026-05-04T10-11-12-345Z_{UUID}.jsonl", cwd="/home/ann/my app"
    )
    session(agent / "sessions" / "--C--work--" / f"2026-05-04T10-11-12-346Z_{OTHER}.jsonl", OTHER, cwd="C:\\work")
    (agent / "auth.json").write_text("{}")
    (agent / "models.json").write_text("{}")

    assert ids(load_settings(env_file=None, pi_agent_dir=agent)) == [
        f"2026-05-04T10-11-12-345Z_{UUID}",
        f"2026-05-04T10-11-12-346Z_{OTHER}",
    ]


def test_a_session_that_pi_0_30_left_beside_its_folder_is_the_same_when_a_later_pi_moves_it(tmp_path: Path) -> None:
    settings = load_settings(env_file=None, pi_agent_dir=tmp_path)
    (tmp_path / "sessions" / "--p--").mkdir(parents=True)
    stray = session(tmp_path / f"2026-05-04T10-11-12-345Z_{UUID}.jsonl")
    before = ids(settings)
    shutil.move(stray, tmp_path / "sessions" / "--p--")

    assert before == ids(settings) == [f"2026-05-04T10-11-12-345Z_{UUID}"]


@pytest.mark.parametrize("by", ["PI_CODING_AGENT_SESSION_DIR", "sessionDir"])
def test_a_folder_of_the_user_s_own_is_flat_and_holds_many_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    folder, agent = tmp_path / "my sessions", tmp_path / "agent"
    session(folder / f"2026-05-04T10-11-12-345Z_{UUID}.jsonl", cwd="/a/b-c")
    session(folder / f"2026-05-04T10-11-12-346Z_{OTHER}.jsonl", OTHER, cwd="/a-b/c")
    session(agent / "sessions" / "--p--" / "x_s1.jsonl", "s1")
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(agent))
    if by == "sessionDir":
        (agent / "settings.json").write_text(json.dumps({"sessionDir": str(folder)}))
    else:
        monkeypatch.setenv(by, str(folder))

    assert len(ids(load_settings(env_file=None))) == 2
    assert len(ids(load_settings(env_file=None, exclude_projects=(Path("/a-b/c"),)))) == 1


def test_omp_s_layout_has_sessions_within_sessions(tmp_path: Path) -> None:
    root = tmp_path / ".omp" / "agent" / "sessions"
    stem = f"2026-05-04T10-11-12-345Z_{UUID}"
    session(root / "-src-app" / f"{stem}.jsonl")
    for n, name in enumerate(["Scout", "Scout/Deep", "Scout/Deep/Deeper"]):
        session(root / "-src-app" / stem / f"{name}.jsonl", f"c{n}", parentSession=UUID)
    inside = root / "-src-app" / stem
    for name in ("1.bash.log", "Scout.md", "draft.txt", "x.jsonl.1.bak", "x.jsonl.gz", "x.lock"):
        (inside / name).write_text("{}")
    session(root / "-" / "home_s2.jsonl", "s2")
    session(root / f"home-app-{'0' * 64}" / "old_s3.jsonl", "s3")

    assert ids(under(root)) == [
        f"{stem}",
        f"{stem}_Scout_Deep_Deeper_c2",
        f"{stem}_Scout_Deep_c1",
        f"{stem}_Scout_c0",
        "home_s2",
        "old_s3",
    ]


def test_openclaw_s_layout(tmp_path: Path) -> None:
    root = tmp_path / ".openclaw" / "agents" / "main" / "sessions"
    path = session(root / f"{UUID}.jsonl")
    session(root / f"{OTHER}-topic-12.jsonl", OTHER)
    shutil.copy(path, root / f"{UUID}.checkpoint.{OTHER}.jsonl")
    event = {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "traceId": UUID, "type": "session.started"}
    write(root / f"{UUID}.trajectory.jsonl", {**event, "ts": "2026-01-01T00:00:00.000Z", "seq": 1, "sessionId": UUID})
    for name in ("sessions.json", f"{UUID}.jsonl.deleted.2026", f"{UUID}.jsonl.bak-1"):
        (root / name).write_text("{}")
    with path.open("ab") as stream:
        stream.write(encode(entry("compaction", "c", "b", summary="x"), user("d", "c")))

    found = discover(under(root))
    assert ids(under(root)) == [UUID, f"{OTHER}-topic-12"]
    reasons = {refused.name.split(".", 1)[1]: reason for refused, reason in found.refused}
    assert "trajectory of OpenClaw's" in reasons["trajectory.jsonl"]
    assert "which holds all of it" in reasons[f"checkpoint.{OTHER}.jsonl"]
    with pytest.raises(NotASession, match="checkpoint"):
        session_file(root / f"{UUID}.checkpoint.{OTHER}.jsonl", under(root))


@pytest.mark.parametrize("change", ["cut", "gone"])
def test_a_checkpoint_that_holds_more_than_its_session_is_read(tmp_path: Path, change: str) -> None:
    path = session(tmp_path / f"{UUID}.jsonl")
    shutil.copy(path, tmp_path / f"{UUID}.checkpoint.{OTHER}.jsonl")
    if change == "cut":
        write(path, header(id=UUID), entry("compaction", "c", None, summary="x"), *[user("d", "c", "x" * 500)] * 2)
    else:
        path.unlink()

    assert f"{UUID}.checkpoint.{OTHER}" in ids(under(tmp_path))


def test_what_lies_beside_sessions_and_is_none_is_refused_or_not_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    session(root / "--p--" / "x_s1.jsonl", "s1")
    artefact = {"version": 1, "recordType": "message", "role": "user", "text": "x"}
    write(root / "--p--" / "subagent-artifacts" / "run.jsonl", artefact, artefact)
    write(root / "--p--" / "tasks" / "task.jsonl", {"event": "started", "task": 1})
    for name in ("x_s1.jsonl.gz", "x_s1.jsonl.1.bak", "x_s1.jsonl.lock", "pi-session-x.html", "session-data.json"):
        shutil.copy(root / "--p--" / "x_s1.jsonl", root / "--p--" / name)

    found = discover(under(root))
    assert ids(under(root)) == ["x_s1"]
    assert {path.name: reason.split(".jsonl ")[1] for path, reason in found.refused} == {
        "run.jsonl": "is a subagent's transcript, not a session.",
        "task.jsonl": "holds no header or entry of pi's.",
    }
    assert len(list(list_files(under(root)))) == 3


def test_folder_names_are_not_decoded(tmp_path: Path, redactor: Redactor) -> None:
    write(tmp_path / "--home-ann-a-b--" / "x_s1.jsonl", header(cwd="/home/ann/a-b"), user("a", None))
    write(tmp_path / "--home-ann-a-b--" / "y_s2.jsonl", header(id="s2", cwd="/home/ann-a/b"), user("a", None))
    write(tmp_path / "--home-ann-a-b--" / "z.jsonl", user("a", None))
    files = discover(under(tmp_path)).files

    assert sorted(read(file, redactor)[0].header.cwd for file in files) == ["", "/home/ann-a/b", "/home/ann/a-b"]


# --- what is in them ---


def test_version_1_is_a_line_of_entries_without_ids(tmp_path: Path, redactor: Redactor) -> None:
    head = {"type": "session", "id": UUID, "timestamp": "2025-11-20T23:33:01.550Z", "cwd": "/p", "provider": "p"}
    rows = [
        {**head, "modelId": "m", "thinkingLevel": "off", "branchedFrom": "/old.jsonl"},
        user("", None, "1"),
        message("", None, "hookMessage", "injected", customType="memory", display=True),
        assistant("", None, "2"),
        entry("compaction", "", None, summary="sum", firstKeptEntryIndex=2, tokensBefore=9),
        user("", None, "3"),
    ]
    bare = [{k: v for k, v in row.items() if k not in ("id", "parentId") or row["type"] == "session"} for row in rows]
    seen, said = read(write(tmp_path / "x.jsonl", *bare), redactor)

    assert (seen.format, seen.header.parent_session, seen.problem_count) == ("pi-v1", "/old.jsonl", 0)
    assert [(m.role, m.kind, m.turn_index) for m in said] == [
        ("user", "message", 0),
        ("custom", "custom_message", 0),
        ("assistant", "message", 0),
        ("system", "compaction", 0),
        ("user", "message", 1),
    ]


def test_version_2_calls_custom_messages_otherwise(tmp_path: Path, redactor: Redactor) -> None:
    hook = message("b", "a", "hookMessage", "injected", customType="x")
    seen, said = read(
        write(tmp_path / "x.jsonl", header(version=2), user("a", None), hook, assistant("c", "b")), redactor
    )

    assert (seen.format, seen.tree.turns) == ("pi-v2", 1)
    assert [m.role for m in said] == ["user", "custom", "assistant"]


def test_pi_1_x_adds_system_messages_usage_edits_and_durations(tmp_path: Path, redactor: Redactor) -> None:
    system = message("y", None, "system", "", sections={"identity": "You are pi.", "gone": None}, toolsAdded=["bash"])
    failed = message("b", "a", "assistant", [], stopReason="error", errorMessage="529 overloaded", durationMs=9)
    answer = assistant("d", "c", "Done.", durationMs=1_200, rawStopReason="end_turn", endTurn=True, deferred=False)
    rows = [
        entry("session_info", "n", None, name="A name"),
        {**system, "parentId": "n"},
        user("a", "y"),
        failed,
        entry("context_edit", "c", "b", targetId="b", replacement=None),
        answer,
        result("e", "d", "x", nestedCalls=[{"name": "read"}], durationMs=7),
        entry("usage", "f", "e", provider="p", model="m", usage={"input": 1}) | {"kind": "cache_warm"},
        entry("context_edit", "g", "f", targetId="e", replacement={"content": [{"type": "text", "text": "shorter"}]}),
        entry("branch_summary", "h", "g", fromId="e", summary="tried", usage={}),
    ]
    seen, said = read(write(tmp_path / "x.jsonl", header(), *rows), redactor)

    assert (seen.problem_count, seen.tree.turns, seen.name) == (0, 1, "A name")
    assert [(m.role, m.kind, m.content) for m in said] == [
        ("system", "message", "## identity\nYou are pi."),
        ("user", "message", "question"),
        ("assistant", "message", "[error] 529 overloaded"),
        ("assistant", "message", "Done."),
        ("tool", "message", "x"),
        ("system", "branch_summary", "tried"),
    ]
    assert said[0].turn_index == -1
    assert turns(said)[0].text == "User: question\nAssistant: Done.\nTool bash: x"


def test_omp_adds_roles_entries_and_blobs_of_its_own(tmp_path: Path, redactor: Redactor) -> None:
    digest = "0123456789abcdef" * 4
    slot = {"type": "title", "v": 1, "title": "Fix login", "source": "auto", "updatedAt": "x", "pad": " " * 120}
    head = header(title="older", titleSource="auto", additionalDirectories=["/q"], parentSession="id-of-another")
    blob = {"type": "image", "data": f"blob:sha256:{digest}", "mimeType": "image/png"}
    rows: list[Row] = [
        entry("session_init", "i", None, systemPrompt="be good", task="t", tools=[]),
        entry("model_change", "m", "i", model="openrouter/some/model", role="default"),
        entry("thinking_level_change", "l", "m", thinkingLevel=None, configured="high"),
        message("d", "l", "developer", "Rules.", synthetic=True, attribution="agent"),
        message("a", "d", "user", [{"type": "text", "text": "Look."}, blob], steering=True, attribution="user"),
        message("p", "a", "pythonExecution", None, code="print(1)", output="1\n"),
        message("f", "p", "fileMention", [{"type": "text", "text": "@x.py"}]),
        assistant("b", "f", "Done.", model="some/model", provider="openrouter"),
        entry("mode_change", "o", "b", mode="plan"),
        entry("compaction", "c", "o", shortSummary="s", summary="sum", preserveData={"x": "y" * 9}, method="auto"),
        entry("compaction", "c2", "c", tokensAfter=5),
        entry("reset_boundary", "r", "c2"),
        entry("credential_pin", "q", "r", provider="p"),
    ]
    seen, said = read(write(tmp_path / "x.jsonl", slot, head, *rows), redactor)

    assert (seen.name, seen.header.parent_session) == ("Fix login", "id-of-another")
    assert (seen.tree.turns, seen.problem_count) == (1, 0)
    assert all(seen.tree.on_active_path)
    assert [(m.role, m.kind) for m in said] == [
        ("developer", "message"),
        ("user", "message"),
        ("pythonExecution", "message"),
        ("fileMention", "message"),
        ("assistant", "message"),
        ("system", "compaction"),
        ("system", "compaction"),
    ]
    assert contents(said)[1] == f"Look.\n[image image/png, sha256 {digest[:12]}]"
    assert (said[4].provider, said[4].model) == ("openrouter", "some/model")
    assert said[0].turn_index == -1, "what omp says in a developer's name is no turn"


def test_a_python_execution_of_omp_s_tells_code_and_output(tmp_path: Path, redactor: Redactor) -> None:
    row = message("p", "a", "pythonExecution", None, code="print(6 * 7)", output="42\n", exitCode=0)
    _, said = read(write(tmp_path / "x.jsonl", header(), user("a", None), row), redactor)

    assert contents(said)[1] == "$ print(6 * 7)\n42"


def test_a_newer_version_is_read_and_said_to_be_newer(tmp_path: Path, redactor: Redactor) -> None:
    seen, said = read(write(tmp_path / "x.jsonl", header(version=4), user("a", None)), redactor)

    assert contents(said) == ["question"]
    assert reasons(seen) == [(1, "format version 4 is newer than this reader knows")]


@pytest.mark.parametrize("mark", [{"synthetic": True}, {"attribution": "agent"}])
def test_what_a_program_wrote_in_the_user_s_place_is_told_from_what_the_user_said(
    tmp_path: Path, redactor: Redactor, mark: Row
) -> None:
    made = message("u2", "a1", "user", "Continue with the plan.", **mark)
    file = write(tmp_path / "s.jsonl", header(), user("u1", None), assistant("a1", "u1"), made)
    _, found = read(file, redactor)
    assert [(m.role, m.kind) for m in found] == [
        ("user", "message"), ("assistant", "message"), ("user", "synthetic_message"),
    ]  # fmt: skip
