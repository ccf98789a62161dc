from __future__ import annotations

import dataclasses
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.documents import Header
from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.sessions import outline
from memory_pipeline_tests.sessions.logs import (
    assistant,
    encode,
    entry,
    header,
    reasons,
    result,
    user,
    write,
    write_bytes,
)
from memory_pipeline_tests.sessions.test_blocks import content_hash


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def test_an_outline_tells_header_order_and_counts(path: Path) -> None:
    seen = outline(
        write(
            path,
            header(parentSession="/old.jsonl"),
            entry("model_change", "m", None),
            user("a", "m"),
            assistant("b", "a", timestamp=1),
            user("c", "b"),
            entry("session_info", "i", "c", name="first"),
            user("d", "b"),
            entry("session_info", "n", "d", name="second"),
        )
    )

    assert seen.format == "pi-v3"
    assert seen.header == Header(
        id="s1", version=3, timestamp="2026-01-01T00:00:00.000Z", cwd="/p", parent_session="/old.jsonl"
    )
    assert seen.name == "second"
    assert [(e.line, e.type, e.role, e.id) for e in seen.entries][1:4] == [
        (3, "message", "user", "a"),
        (4, "message", "assistant", "b"),
        (5, "message", "user", "c"),
    ]
    assert seen.tree.turn_index == (-1, 0, 0, 1, 1, 2, 2)
    assert seen.tree.on_active_path == (True, True, True, False, False, True, True)
    assert (seen.tree.turns, seen.tree.branches, seen.message_count) == (3, 2, 4)
    assert seen.problem_count == 0


def test_offsets_and_lengths_find_the_lines_again(path: Path) -> None:
    file = write(path, header(), user("a", None, "ä\u2028"), "", assistant("b", "a"))
    data = path.read_bytes()

    found = [json.loads(data[e.offset : e.offset + e.length]) for e in outline(file).entries]
    assert [row["id"] for row in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("version", "expected", "number"),
    [
        (None, "pi-v1", 1),
        (2, "pi-v2", 2),
        (3, "pi-v3", 3),
        (3.0, "pi-v3", 3),
        (4, "pi-v3+", 4),
        ("x", "pi-v1", 1),
        (1e300, "pi-v1", 1),
    ],
)
def test_formats_are_told_by_the_header(path: Path, version: Any, expected: str, number: int) -> None:
    head = header(version=version) if version is not None else {k: v for k, v in header().items() if k != "version"}
    seen = outline(write(path, head, user("a", None)))

    assert (seen.format, seen.header.version) == (expected, number)
    assert [line for line, _ in reasons(seen)] == ([1] if number > 3 else [])


def test_v1_entries_without_ids_are_chained_in_file_order(path: Path) -> None:
    def bare(row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if key not in ("id", "parentId")}

    head = {"type": "session", "id": "s1", "timestamp": "2025-11-20T23:33:50.805Z", "cwd": "/p", "branchedFrom": "/b"}
    rows = [user("", None), assistant("", None), entry("model_change", "", None), user("", None), user("", None)]
    seen = outline(write(path, head, *map(bare, rows)))

    assert seen.format == "pi-v1"
    assert seen.header.parent_session == "/b"
    assert seen.tree.parents == (-1, 0, 1, 2, 3)
    assert seen.tree.turn_index == (0, 0, 0, 1, 1)
    assert {e.id for e in seen.entries} == {None}


def test_a_lost_header_is_named_and_survived(path: Path) -> None:
    seen = outline(write(path, user("a", None), assistant("b", "a")))

    assert seen.header.id is None
    assert (seen.format, seen.tree.turns) == ("pi-v3", 1)
    assert reasons(seen) == [(0, "no header")]
    late = outline(write(path, user("a", None), header(), assistant("b", "a")))
    assert (late.header.id, late.header.cwd) == ("s1", "/p")
    assert reasons(late) == [(2, "header behind entries")]


def test_a_header_and_prefix_written_twice_are_read_once(path: Path) -> None:
    rows = [header(), user("a", None)]
    seen = outline(write(path, *rows, *rows, assistant("b", "a")))

    assert [e.id for e in seen.entries] == ["a", "b"]
    assert seen.tree.turns == 1
    assert reasons(seen) == [(3, "another header"), (4, "entry repeated")]


def test_the_same_id_with_other_content_is_another_entry(path: Path) -> None:
    seen = outline(write(path, header(), user("a", None), assistant("b", "a"), user("a", "b", "other")))

    assert [e.id for e in seen.entries] == ["a", "b", "a"]
    assert seen.tree.turns == 2


def test_omp_s_title_is_the_name_until_someone_gives_one(path: Path) -> None:
    slot = {"type": "title", "v": 1, "title": "Fix login", "pad": "    "}

    assert outline(write(path, slot, header(title="old"), user("a", None))).name == "Fix login"
    assert outline(write(path, header(title="old"), user("a", None))).name == "old"
    cleared = entry("session_info", "i", "a", name="")
    assert outline(write(path, slot, header(), user("a", None), cleared)).name is None


def test_every_kind_of_damage_costs_its_line_and_is_named(path: Path) -> None:
    rows: list[Any] = [
        header(),
        user("a", None),
        b'{"type":"message","id":"b","pare',
        b"\0" * 700,
        b"[]",
        json.dumps(assistant("c", "a")).encode() + b"\0\0",
        {"no": "type"},
        {"type": 5},
        {"type": "message", "id": "d", "parentId": "c", "message": "no object"},
        assistant("e", "zz"),
        "",
    ]
    seen = outline(write(path, *rows))

    assert [e.id for e in seen.entries] == ["a", "c", "d", "e"]
    assert [line for line, _ in reasons(seen)] == [3, 4, 5, 6, 7, 8, 9, 10]
    assert seen.problem_count == 8
    assert seen.message_count == 3
    assert seen.tree.turn_index == (0, 0, 0, 0)


def test_unknown_entries_are_opaque_nodes_of_the_tree(path: Path) -> None:
    seen = outline(write(path, header(), user("a", None), entry("from_the_future", "b", "a"), assistant("c", "b")))

    assert seen.tree.turn_index == (0, 0, 0)
    assert seen.problem_count == 0


def test_an_unfinished_last_line_is_left_for_the_next_time(path: Path) -> None:
    whole = encode(header(), user("a", None))
    torn = encode(assistant("b", "a"))[:-30]
    seen = outline(write_bytes(path, whole + torn))

    assert [e.id for e in seen.entries] == ["a"]
    assert seen.content_sha256 == content_hash(whole)
    assert reasons(seen) == [(3, "unfinished last line, left for the next time")]


def test_a_last_line_that_only_lacks_its_line_end_counts(path: Path) -> None:
    data = encode(header(), user("a", None), assistant("b", "a"))[:-1]
    seen = outline(write_bytes(path, data))

    assert [e.id for e in seen.entries] == ["a", "b"]
    assert seen.content_sha256 == content_hash(data)
    assert seen.problem_count == 0


def test_a_tail_of_nul_bytes_is_no_content(path: Path) -> None:
    whole = encode(header(), user("a", None))
    seen = outline(write_bytes(path, whole + b"\0" * 100_000))

    assert seen.content_sha256 == content_hash(whole)
    assert seen.problem_count == 1


def test_a_header_alone_is_a_session_without_messages(path: Path) -> None:
    seen = outline(write(path, header()))

    assert (len(seen.entries), seen.tree.turns, seen.tree.branches) == (0, 0, 0)
    assert seen.session_started_at == seen.ended_at == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no header or entry"),
        (["", " "], "no header or entry"),
        (["null", "[]", "3"], "no header or entry"),
        ([{"version": 1, "recordType": "message", "role": "user"}], "subagent"),
        ([{"type": "user", "parentUuid": None, "sessionId": "s"}], "Claude Code"),
        ([header(), *[{"type": "agent_start"}, {"type": "message_end", "message": {}}]], "JSON mode"),
        ([entry("custom", "a", None)], "no header or entry"),
    ],
    ids=["empty", "blank", "scalars", "subagent", "claude", "json mode", "no message"],
)
def test_look_alikes_are_refused(path: Path, rows: list[Any], reason: str) -> None:
    with pytest.raises(NotASession, match=reason):
        outline(write(path, *rows))


def test_a_file_that_went_away_is_an_error(path: Path) -> None:
    file = write(path, header())
    path.unlink()

    with pytest.raises(InputError, match="does not exist"):
        outline(file)


BAD_TIMES: list[Any] = ["garbage", None, 1e20, -5, True, "2099-01-01T00:00:00.000Z", [], "1970-01-01T00:00:00Z"]


@pytest.mark.parametrize("bad", BAD_TIMES, ids=str)
def test_a_message_without_a_valid_time_takes_the_one_before_it(path: Path, bad: Any) -> None:
    rows = [header(), user("a", None), {**assistant("b", "a"), "timestamp": bad}, user("c", "b")]
    seen = outline(write(path, *rows))

    assert [e.timestamp for e in seen.entries] == ["2026-01-01T00:00:01.000Z"] * 3


def test_times_fall_back_from_the_message_to_the_file(path: Path) -> None:
    first = user("a", None)
    first["timestamp"], first["message"]["timestamp"] = "bad", 1767225605000
    assert outline(write(path, header(), first)).entries[0].timestamp == "2026-01-01T00:00:05.000Z"
    first["message"]["timestamp"] = None
    seen = outline(write(path, header(), first))
    assert seen.entries[0].timestamp == seen.session_started_at == "2026-01-01T00:00:00.000Z"
    file = dataclasses.replace(write(path, header(timestamp="bad"), first), mtime_ns=1767225609000000000)
    assert outline(file).session_started_at == "2026-01-01T00:00:09.000Z"


def test_a_session_starts_with_its_first_message_and_ends_with_its_latest(path: Path) -> None:
    def timed(row: dict[str, Any], time: str) -> dict[str, Any]:
        return {**row, "timestamp": f"2026-01-01T0{time}:00.000Z"}

    seen = outline(
        write(
            path,
            header(),
            timed(entry("model_change", "m", None), "1:00"),
            timed(user("a", "m"), "2:00"),
            timed(assistant("b", "a"), "4:00"),
            timed(user("c", "b"), "3:00"),
            timed(entry("label", "l", "c"), "9:00"),
        )
    )

    assert seen.session_started_at == "2026-01-01T02:00:00.000Z"
    assert seen.ended_at == "2026-01-01T04:00:00.000Z"


def test_surrogates_and_monstrous_ids_are_kept_out_of_memory(path: Path) -> None:
    rows = [
        header(cwd="/p\ud83d", id="s\udc88"),
        entry("session_info", "i", None, name="n\ud83d"),
        user("x" * 9_000, "i"),
    ]
    seen = outline(write(path, *rows, user("b", "y" * 9_000)))

    assert (seen.header.cwd, seen.header.id, seen.name) == ("/p\ufffd", "s\ufffd", "n\ufffd")
    assert [e.id for e in seen.entries] == ["i", None, "b"]
    assert seen.tree.parents == (-1, 0, 1)


def test_memory_grows_with_entries_not_with_their_size(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(encode(header(), user("u", None)))
        for i in range(400):
            stream.write(encode(result(str(i), str(i - 1) if i else "u", "x" * 100_000)))
    size = path.stat().st_size
    file = write(path.with_name("y"), header())
    tracemalloc.start()
    seen = outline(dataclasses.replace(file, path=path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(seen.entries) == 401
    assert size > 40_000_000
    assert peak < 6_000_000
