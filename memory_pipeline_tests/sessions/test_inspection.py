"""What is told of a file without a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.documents import Problem
from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import Inspection, files_below, inspect_file
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.sessions.logs import (
    CONTEXT,
    Row,
    assistant,
    encode,
    entry,
    header,
    read,
    user,
    write,
    write_bytes,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(env_file=None, data_dir=tmp_path / "data", sessions_dir=tmp_path / "sessions")


def test_a_file_is_told_by_its_tree_its_problems_and_its_secrets(
    tmp_path: Path, settings: Settings, redactor: Redactor
) -> None:
    secret = fakes.token()
    rows: list[Row | str] = [
        header(parentSession="/old.jsonl"),
        user("a", None, f"My token is {secret}."),
        assistant("b", "a", f"{secret}, I see."),
        "{torn",
        user("c", "b", "old way"),
        user("d", "b", "new way"),
        entry("session_info", "n", "d", name=f"With {secret}"),
    ]
    path = write(tmp_path / "x_s1.jsonl", *rows).path
    seen = inspect_file(path, redactor, settings)

    assert (seen.path, seen.session_id, seen.format, seen.version) == (str(path), "x_s1", "pi-v3", 3)
    assert (seen.entries, seen.messages, seen.turns, seen.active_path, seen.branches) == (5, 4, 3, 4, 2)
    assert seen.parent_session == "/old.jsonl"
    assert (seen.problems, seen.problem_count) == ((Problem(line=4, reason="no JSON"),), 1)
    assert seen.redactions == sum(seen.redactions_by_kind.values()) == 2
    assert list(seen.redactions_by_kind) == ["github-pat"]
    assert secret not in repr(seen)
    _, said = read(write(path, *rows), redactor, CONTEXT)
    assert seen.redactions == sum(m.redactions for m in said)


@pytest.mark.parametrize(
    ("data", "problems"), [(b"", 0), (b"\n \r\n", 0), (b"\0" * 9_000, 1)], ids=["empty", "blank", "nothing but NUL"]
)
def test_a_file_that_holds_nothing_yet_is_an_empty_session(
    tmp_path: Path, settings: Settings, redactor: Redactor, data: bytes, problems: int
) -> None:
    seen = inspect_file(write_bytes(tmp_path / "x.jsonl", data).path, redactor, settings)

    assert (seen.format, seen.entries, seen.turns, seen.problem_count) == ("empty", 0, 0, problems)


def test_a_header_alone_and_a_torn_file_are_sessions(tmp_path: Path, settings: Settings, redactor: Redactor) -> None:
    def of(data: bytes) -> Inspection:
        return inspect_file(write_bytes(tmp_path / "x.jsonl", data).path, redactor, settings)

    alone = of(encode(header()))
    assert (alone.format, alone.turns, alone.active_path, alone.problem_count) == ("pi-v3", 0, 0, 0)
    torn = of(encode(header(), user("a", None), assistant("b", "a"))[:-40])
    assert (torn.turns, torn.entries) == (1, 1)
    assert [problem.line for problem in torn.problems] == [3]
    for end in (5, 40, len(encode(header())) - 30):
        being_written = of(encode(header())[:end])
        assert (being_written.format, being_written.problem_count) == ("empty", 1)


def test_a_file_asked_for_by_name_is_read_whatever_its_name_and_the_settings_say(
    tmp_path: Path, settings: Settings, redactor: Redactor
) -> None:
    left_out = settings.model_copy(update={"exclude_projects": (Path("/p"),), "exclude_folders": (tmp_path,)})
    path = write(tmp_path / "a copy.bak", header(), user("a", None)).path

    assert inspect_file(path, redactor, left_out).session_id == "a-copy.bak_s1"


def test_what_is_no_session_is_said_to_be_what_it_is(tmp_path: Path, settings: Settings, redactor: Redactor) -> None:
    path = write_bytes(tmp_path / "notes.md", b"# Notes\n\nNothing else.\n").path
    with pytest.raises(NotASession, match=r"notes\.md is a text file"):
        inspect_file(path, redactor, settings)
    with pytest.raises(InputError, match="does not exist"):
        inspect_file(tmp_path / "gone.jsonl", redactor, settings)
    with pytest.raises(InputError, match="not a regular file"):
        inspect_file(tmp_path, redactor, settings)


def test_files_below_a_folder_come_by_path(tmp_path: Path) -> None:
    for name in ("b/x.jsonl", "a/y.jsonl", "a/z.txt", "c.jsonl"):
        write(tmp_path / name, header())
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    said: list[str] = []

    found = [path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path, said.append)]
    assert found == ["a/y.jsonl", "b/x.jsonl", "c.jsonl"]
    assert len(said) == 1


def test_inspecting_leaves_the_file_as_it_is_and_writes_nothing(
    tmp_path: Path, settings: Settings, redactor: Redactor
) -> None:
    path = write(tmp_path / "logs" / "x.jsonl", header(), user("a", None), "{torn").path
    other = write_bytes(tmp_path / "logs" / "notes.jsonl", b"not a session").path
    before = [(p.read_bytes(), p.stat().st_mtime_ns) for p in (path, other)]
    inspect_file(path, redactor, settings)
    with pytest.raises(NotASession):
        inspect_file(other, redactor, settings)

    assert [(p.read_bytes(), p.stat().st_mtime_ns) for p in (path, other)] == before
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["notes.jsonl", "x.jsonl"]
