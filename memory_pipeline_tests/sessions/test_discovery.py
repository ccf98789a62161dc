from __future__ import annotations

import gzip
import json
import os
import re
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.sessions import discover, list_files, session_file
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline_tests.sessions.logs import assistant, encode, header, user, write, write_bytes

UUID = "019e1111-2222-7333-8444-555555555555"


def at(root: Path, **overrides: object) -> Settings:
    return load_settings(env_file=None, sessions_dir=root, **overrides)


def ids(root: Path, **overrides: object) -> list[str]:
    return sorted(file.session_id for file in discover(at(root, **overrides)).files)


def session(path: Path, id: str = "s1", **fields: object) -> Path:
    return write(path, header(id=id, **fields), user("a", None), assistant("b", "a")).path


def test_pi_s_file_name_is_the_id(tmp_path: Path) -> None:
    session(tmp_path / "--home-ann-app--" / f"2026-05-04T10-11-12-345Z_{UUID}.jsonl", UUID)
    session(tmp_path / f"{UUID}.jsonl", UUID)

    assert ids(tmp_path) == [UUID, f"2026-05-04T10-11-12-345Z_{UUID}"]


def test_a_name_without_the_header_s_id_gets_it_appended(tmp_path: Path) -> None:
    session(tmp_path / "notes.jsonl", "s1")
    session(tmp_path / "torn.jsonl", "t")
    session(tmp_path / "x-t-y.jsonl", "t")

    assert ids(tmp_path) == ["notes_s1", "torn_t", "x-t-y"]


def test_signs_outside_the_alphabet_become_dashes(tmp_path: Path) -> None:
    session(tmp_path / "my notes +_s1.jsonl", "s1")
    session(tmp_path / "x.jsonl", "a/b:c")

    assert ids(tmp_path) == ["my-notes--_s1", "x_a-b-c"]


def test_a_long_id_ends_in_a_hash_and_stays_unique(tmp_path: Path) -> None:
    session(tmp_path / f"{'n' * 150}1_s1.jsonl", "s1")
    session(tmp_path / f"{'n' * 150}2_s1.jsonl", "s1")
    found = ids(tmp_path)

    assert len(set(found)) == 2
    assert all(re.fullmatch(r"n{103}-[0-9a-f]{16}", name) and len(name) == 120 for name in found)


def test_a_session_without_a_header_is_told_by_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "--a--" / "x.jsonl", user("a", None))
    write(tmp_path / "--b--" / "x.jsonl", user("a", None))
    first, second = ids(tmp_path)

    assert first != second
    assert re.fullmatch(r"x_[0-9a-f]{16}", first)
    moved = tmp_path.rename(tmp_path.with_name("elsewhere"))
    assert ids(moved) == [first, second], "the place below the sessions folder counts, not where that one lies"


def test_a_header_that_comes_after_entries_does_not_change_the_id(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", user("a", None)).path
    before = ids(tmp_path)
    with path.open("ab") as stream:
        stream.write(encode(header(), user("b", "a")))

    assert ids(tmp_path) == before


def test_child_sessions_carry_their_parents_names(tmp_path: Path) -> None:
    session(tmp_path / "--p--" / "main_s1.jsonl", "s1")
    session(tmp_path / "--p--" / "main_s1" / "Scout.jsonl", "s2")
    session(tmp_path / "--p--" / "main_s1" / "Scout" / "Deep.jsonl", "s3")
    session(tmp_path / "--p--" / "main_s1" / "logs" / "Other.jsonl", "s4")
    session(tmp_path / "--p--" / "plain" / "folder" / "x_s5.jsonl", "s5")

    expected = ["main_s1", "main_s1_Other_s4", "main_s1_Scout_Deep_s3", "main_s1_Scout_s2", "x_s5"]
    assert ids(tmp_path) == expected


def test_one_file_has_the_id_that_the_whole_folder_gives_it(tmp_path: Path) -> None:
    session(tmp_path / "--p--" / "main_s1.jsonl", "s1")
    session(tmp_path / "--p--" / "main_s1" / "Scout.jsonl", "s2")
    session(tmp_path / "--p--" / "main_s1" / "logs" / "Other.jsonl", "s4")
    write(tmp_path / "--p--" / "lost.jsonl", user("a", None))

    for file in discover(at(tmp_path)).files:
        assert session_file(file.path, at(tmp_path)) == file


def test_files_come_by_time_then_id(tmp_path: Path) -> None:
    for name, mtime in (("c", 3), ("b", 1), ("a", 1)):
        os.utime(session(tmp_path / f"{name}_s1.jsonl"), ns=(0, mtime))

    found = discover(at(tmp_path)).files
    assert [(file.session_id, file.mtime_ns) for file in found] == [("a_s1", 1), ("b_s1", 1), ("c_s1", 3)]
    assert {(file.path, file.size, file.mtime_ns) for file in found} == set(list_files(at(tmp_path)))


def test_of_two_files_with_one_id_the_larger_counts(tmp_path: Path) -> None:
    small = write(tmp_path / "--a--" / "x_s1.jsonl", header()).path
    large = session(tmp_path / "--b--" / "x_s1.jsonl")

    found = discover(at(tmp_path))
    assert [file.path for file in found.files] == [large]
    assert [path for path, _ in found.refused] == [small]
    assert "copy" in found.refused[0][1]


def test_each_real_file_is_found_once_and_by_its_own_name(tmp_path: Path) -> None:
    real = session(tmp_path / "b-real" / "x_s1.jsonl")
    (tmp_path / "a-link").symlink_to("b-real")
    (tmp_path / "c-link").symlink_to(tmp_path)
    (tmp_path / "b-real" / "loop").symlink_to("loop")
    (tmp_path / "b-real" / "up").symlink_to("..")
    (tmp_path / "a-file_s1.jsonl").symlink_to(real)
    os.link(real, tmp_path / "z-hard_s1.jsonl")

    found = discover(at(tmp_path))
    assert len(found.files) == 1
    assert found.files[0].path in (real, tmp_path / "z-hard_s1.jsonl")


def test_linked_project_folders_are_followed(tmp_path: Path) -> None:
    session(tmp_path / "away" / "x_s1.jsonl")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "--linked--").symlink_to(tmp_path / "away")

    assert [file.path for file in discover(at(tmp_path / "root")).files] == [
        tmp_path / "root" / "--linked--" / "x_s1.jsonl"
    ]


@pytest.mark.timeout(20)
def test_fifos_and_folders_with_the_ending_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    session(tmp_path / "x_s1.jsonl")

    assert ids(tmp_path) == ["x_s1"]
    assert discover(at(tmp_path)).problems == ()
    with pytest.raises(InputError, match="not a regular file"):
        session_file(tmp_path / "pipe.jsonl", at(tmp_path))


def test_links_to_nowhere_are_problems(tmp_path: Path) -> None:
    session(tmp_path / "x_s1.jsonl")
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    (tmp_path / "round.jsonl").symlink_to("round.jsonl")

    found = discover(at(tmp_path))
    assert [file.session_id for file in found.files] == ["x_s1"]
    assert [path.name for path, _ in found.problems] == ["gone.jsonl", "round.jsonl"]


def test_what_cannot_be_read_is_a_problem_and_harms_no_other(
    open_folder: Path, as_someone: AbstractContextManager[None]
) -> None:
    session(open_folder / "x_s1.jsonl")
    session(open_folder / "secret_s2.jsonl", "s2").chmod(0)
    session(open_folder / "closed" / "y_s3.jsonl", "s3")
    (open_folder / "closed").chmod(0)

    with as_someone:
        found = discover(at(open_folder))
        listed = [path.name for path, _, _ in list_files(at(open_folder))]
    assert [file.session_id for file in found.files] == ["x_s1"]
    assert [path.name for path, _ in found.problems] == ["closed", "secret_s2.jsonl"]
    assert all("no permission" in reason for _, reason in found.problems)
    assert sorted(listed) == ["secret_s2.jsonl", "x_s1.jsonl"]


def test_other_files_of_pi_s_folders_are_not_looked_at(tmp_path: Path) -> None:
    for name in ("x.jsonl.lock", "x.jsonl.1.bak", "x.jsonl.gz", "draft.txt", "sessions.json"):
        (tmp_path / name).write_text("{}")

    assert list(list_files(at(tmp_path))) == []


LOOK_ALIKES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n", "is empty"),
    "null": (b"null\n", "no header or entry"),
    "list": (b"[]\n", "no header or entry"),
    "text": ("Über das Lesen von Dateien\n".encode() * 99, "is a text file: it holds no header or entry"),
    "link in git": (b"../other.jsonl", "holds only a path"),
    "link in git far away": ("/home/ann/.pi/agent/sessions/--home-ann-a b--/ü.jsonl\n".encode(), "holds only a path"),
    "binary": (bytes(range(256)) * 50, "is a binary file: it holds no header or entry"),
    "gzip": (gzip.compress(encode(header(), user("a", None))), "is a gzip archive"),
    "html export": (b'<!DOCTYPE html><script id="session-data">eyJoZWFkZXIiOnt9fQ==</script>', "is an HTML page"),
    "database": (b"SQLite format 3\0" + bytes(500), "is a database"),
    "json": (b'{\n  "sessions": [\n  ]\n}\n', "holds JSON, but no header or entry"),
    "command code": (
        encode({"role": "user", "sessionId": "s", "timestamp": "2026-06-16T05:58:15.580Z", "content": "hi"}),
        "Command Code",
    ),
    "openclaw trajectory": (
        encode(
            {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "type": "session.started", "sessionId": "s"},
            {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "type": "context.compiled", "sessionId": "s"},
        ),
        "trajectory of OpenClaw",
    ),
    "subagent": (encode({"version": 1, "recordType": "message", "role": "user", "text": "x"}), "subagent"),
    "claude": (
        encode(
            {"type": "file-history-snapshot", "messageId": "m"},
            {"type": "user", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "hi"}},
        ),
        "Claude Code",
    ),
    "json mode": (encode(header(), {"type": "agent_start"}, {"type": "message_end", "message": {}}), "JSON mode"),
    "dsh": (encode({"type": "session", "createdAt": 1, "id": "s"}, {"type": "user/message"}), "another agent"),
    "v4": (
        encode({"kind": "header", "version": 4, "createdAt": 1}, {"kind": "message", "lane": "main", "seq": 1}),
        "experimental format",
    ),
    "copilot": (encode({"type": "session.start", "id": "x", "parentId": None, "data": {}}), "no header or entry"),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_are_refused_by_name(tmp_path: Path, name: str) -> None:
    data, reason = LOOK_ALIKES[name]
    path = write_bytes(tmp_path / "x.jsonl", data).path

    found = discover(at(tmp_path))
    assert found.files == ()
    assert [refused for refused, _ in found.refused] == [path]
    assert reason in found.refused[0][1]
    with pytest.raises(NotASession, match=reason):
        session_file(path, at(tmp_path))


def test_a_title_slot_and_bad_lines_before_the_header_hide_nothing(tmp_path: Path) -> None:
    slot = {"type": "title", "v": 1, "title": "Fix login", "pad": " " * 150}
    write(tmp_path / "omp.jsonl", slot, header(id="s1"), user("a", None))
    write(tmp_path / "bad.jsonl", "", "{torn", header(id="s2"), user("a", None))
    write(tmp_path / "long.jsonl", header(id="s3"), user("a", None, "x" * 100_000))
    write(tmp_path / "lost.jsonl", user("a", None, "x" * 3_000_000))

    assert [name.rpartition("_")[0] for name in ids(tmp_path)] == ["bad", "long", "lost", "omp"]
    assert ids(tmp_path)[0] == "bad_s2"


def test_excluded_folders_are_not_entered(tmp_path: Path) -> None:
    session(tmp_path / "--a--" / "x_s1.jsonl")
    hidden = session(tmp_path / "--b--" / "deep" / "y_s2.jsonl", "s2")
    (tmp_path / "--c--").symlink_to("--b--")

    for folder in (Path("--b--"), tmp_path / "--b--"):
        assert ids(tmp_path, exclude_folders=(folder,)) == ["x_s1"]
        assert len(list(list_files(at(tmp_path, exclude_folders=(folder,))))) == 1
        with pytest.raises(InputError, match="MEMORY_EXCLUDE_FOLDERS"):
            session_file(hidden, at(tmp_path, exclude_folders=(folder,)))


def test_excluded_projects_are_known_by_their_headers(tmp_path: Path) -> None:
    session(tmp_path / "x_s1.jsonl", cwd="/a/b-c")
    inner = session(tmp_path / "y_s2.jsonl", "s2", cwd="/a-b/c/inner")
    session(tmp_path / "z_s3.jsonl", "s3", cwd="/a-b/cc")
    chosen = at(tmp_path, exclude_projects=(Path("/a-b/c"),))

    found = discover(chosen)
    assert sorted(file.session_id for file in found.files) == ["x_s1", "z_s3"]
    assert found.excluded == 1
    assert found.refused == ()
    with pytest.raises(InputError, match="MEMORY_EXCLUDE_PROJECTS"):
        session_file(inner, chosen)


def test_a_session_without_a_header_hides_with_its_project(tmp_path: Path) -> None:
    write(tmp_path / "--home-ann-secret--" / "x.jsonl", user("a", None))
    write(tmp_path / "--home-ann-open--" / "x.jsonl", user("a", None))

    found = discover(at(tmp_path, exclude_projects=(Path("/home/ann/secret"),)))
    assert [file.path.parent.name for file in found.files] == ["--home-ann-open--"]


def test_file_names_of_any_bytes_are_read(tmp_path: Path) -> None:
    name = os.fsdecode(b"n\xff\xe9")
    try:
        write(tmp_path / f"{name}.jsonl", user("a", None))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (tmp_path / f"{name}2.jsonl").write_text("no session")

    found = discover(at(tmp_path))
    assert [bool(re.fullmatch(r"n--_[0-9a-f]{16}", file.session_id)) for file in found.files] == [True]
    assert found.refused[0][1].encode()


def test_nothing_is_written_to_any_file(tmp_path: Path) -> None:
    session(tmp_path / "x_s1.jsonl")
    write_bytes(tmp_path / "y.jsonl", b"not a session")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    discover(at(tmp_path))

    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


def test_five_thousand_files_take_about_a_second(tmp_path: Path) -> None:
    body = encode(user("a", None, "x" * 2_000))
    for i in range(5_000):
        folder = tmp_path / f"--p{i % 50}--"
        folder.mkdir(exist_ok=True)
        (folder / f"t_{i:08d}.jsonl").write_bytes(json.dumps(header(id=f"{i:08d}")).encode() + b"\n" + body)

    start = time.process_time()
    assert len(discover(at(tmp_path)).files) == 5_000
    assert time.process_time() - start < 2
