"""The files of the shared data: what two releases of pi wrote, real sessions of 2025, and the labelled set."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import MessageContext, Outline, build_manifest, discover, messages, outline
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.sessions.logs import contents, read, reasons, turns, write_bytes

Read = dict[str, tuple[Outline, list[RawMessage], list[Turn]]]


def read_all(root: Path, redactor: Redactor) -> Read:
    found = discover(load_settings(env_file=None, sessions_dir=root))
    assert found.refused == found.problems == ()
    read: Read = {}
    for file in found.files:
        seen = outline(file)
        context = MessageContext(file.session_id, seen.header.cwd, "laptop", 1_048_576)
        said = list(messages(seen, context, redactor))
        read[file.session_id] = (seen, said, turns(said))
        build_manifest(file, seen, redactor, "laptop", seen.header.cwd)
    return read


@pytest.fixture(scope="module")
def recorded(shared_data: Path, redactor: Redactor) -> Read:
    return read_all(shared_data / "pi-sessions", redactor)


@pytest.fixture(scope="module")
def labelled(shared_data: Path, redactor: Redactor) -> Read:
    return read_all(shared_data / "evalset" / "sessions", redactor)


def by_start(read: Read, start: str) -> tuple[Outline, list[RawMessage], list[Turn]]:
    (name,) = (name for name in read if name.startswith(start))
    return read[name]


def test_every_message_of_every_file_is_there(recorded: Read, labelled: Read) -> None:
    kinds = ("message", "custom_message", "compaction", "branch_summary")
    files = 0
    for read_files in (recorded, labelled):
        for seen, said, grouped in read_files.values():
            rows = [json.loads(line) for line in seen.path.read_bytes().split(b"\n") if line and not damaged(seen)]
            if rows:
                assert len(said) == sum(row["type"] in kinds for row in rows)
                assert seen.problem_count == len(seen.tree.repaired)
                files += 1
            assert len(grouped) == seen.tree.turns == len({m.turn_index for m in said if m.turn_index >= 0})
            assert len({m.doc_id for m in said}) == len(said)
    assert files == 23 + 24


EXPLAINED = {
    # 0.73.1 wrote header and prompt again when it found no answer in the file.
    "dup-header-0.73.1": [(3, "another header"), (4, "entry repeated")],
    # The torn record is lost; another process's header is glued to it.
    "torn-tail-glued-0.73.1": [(2, "damaged or glued records, 1 read"), (2, "another header")],
    "torn-tail-repaired-1.6.0": [(2, "no JSON")],
    # 0.73.1 leaves label lines out of a clone to which others point.
    "2026-11-30T20-13-17-414Z": [(7, "unknown parent; hung on the entry before it")],
}


def test_every_problem_of_the_shared_files_is_explained(shared_data: Path) -> None:
    found: dict[str, list[tuple[int, str]]] = {}
    files = 0
    for folder in (shared_data / "pi-sessions", shared_data / "evalset" / "sessions"):
        discovery = discover(load_settings(env_file=None, sessions_dir=folder))
        assert discovery.refused == discovery.problems == ()
        for file in discovery.files:
            files += 1
            if problems := reasons(outline(file)):
                found[file.path.stem.split("_")[0]] = problems

    assert files == 26 + 24
    assert found == EXPLAINED


def damaged(seen: Outline) -> bool:
    return seen.path.parent.name == "damaged"


def test_the_real_sessions_of_2025(recorded: Read) -> None:
    counts = {}
    for name in ("before-compaction", "large-session"):
        seen, said, grouped = by_start(recorded, name)
        users = sum(m.role == "user" for m in said)
        counts[name] = (seen.format, users, len(grouped), all(seen.tree.on_active_path), seen.tree.branches)
    # Some user messages follow one another (a prompt typed before the first was answered) and share a turn.
    # In the one, a prompt was typed before the one ahead of it was answered: the two share a turn.
    assert counts == {
        "before-compaction": ("pi-v1", 55, 54, True, 1),
        "large-session": ("pi-v1", 88, 88, True, 1),
    }
    seen, said, _ = by_start(recorded, "before-compaction")
    assert Counter(m.kind for m in said) == {"message": 987, "bash_execution": 3, "compaction": 2}


def test_the_large_session_s_labels_fit_its_turns(recorded: Read, shared_data: Path) -> None:
    labels = json.loads(
        (shared_data / "pi-sessions" / "real" / "large-session.labels.json").read_text(encoding="utf-8")
    )
    _, _, grouped = by_start(recorded, "large-session")

    assert labels["facts"]
    for fact in labels["facts"]:
        text = grouped[fact["turn_index"]].text.lower()
        assert all(term.lower() in text for term in fact["key_terms"]), fact


def test_branches_labels_and_compaction_of_both_releases(recorded: Read) -> None:
    for start in ("2026-11-30T20-13-07", "2026-11-30T20-13-44"):
        seen, said, grouped = by_start(recorded, start)
        assert [turn.on_active_path for turn in grouped] == [True, False, False, True, True, True, True, True]
        assert seen.tree.branches >= 3
        assert seen.name and seen.name.startswith("Oslo trip")
        assert {m.kind for m in said} == {"message", "custom_message", "bash_execution", "branch_summary", "compaction"}
        assert "<memories>" not in "".join(t.text.split("Assistant: ")[0] for t in grouped)


def test_the_orphans_of_a_clone_are_on_its_path_again(recorded: Read) -> None:
    seen, _, grouped = by_start(recorded, "2026-11-30T20-13-17-414Z")

    assert reasons(seen) == [(7, "unknown parent; hung on the entry before it")]
    assert all(seen.tree.on_active_path)
    assert len(grouped) == 3


def test_a_failing_model_leaves_one_turn_without_an_answer(recorded: Read) -> None:
    for start in ("2026-11-30T20-12-00", "2026-11-30T20-12-17-945Z"):
        _, said, (turn,) = by_start(recorded, start)
        assert sum(m.is_error for m in said) == 4
        assert turn.text.startswith("User: ")
        assert "Assistant" not in turn.text


def test_odd_bytes_come_out_clean(recorded: Read) -> None:
    text = "".join(content for _, said, _ in recorded.values() for content in contents(said))

    assert text.encode()
    assert not set(map(chr, range(32))) - {"\t", "\n"} & set(text)
    assert "\u2028" in text
    assert "[image image/png, " in text


def test_damaged_files_give_what_is_left_of_them(recorded: Read) -> None:
    seen, said, grouped = by_start(recorded, "dup-header")
    assert contents(said) == ["hi", "hello", "yo"]
    assert [turn.text for turn in grouped] == ["User: hi\nUser: hello\nAssistant: yo"]
    assert reasons(seen) == [(3, "another header"), (4, "entry repeated")]

    for name, reason in (("torn-tail-glued", "damaged or glued records, 1 read"), ("torn-tail-repaired", "no JSON")):
        seen, said, _ = by_start(recorded, name)
        assert contents(said) == ["next", ""]
        assert (2, reason) in reasons(seen)


def test_a_file_cut_anywhere_reads_as_its_whole_lines(shared_data: Path, tmp_path: Path, redactor: Redactor) -> None:
    (source,) = (shared_data / "pi-sessions" / "recorded" / "pi-1.6.0").glob("*/2026-11-30T20-13-44*")
    data = source.read_bytes()
    _, whole = read(write_bytes(tmp_path / "whole.jsonl", data), redactor)
    for end in range(200, len(data), 997):
        seen, said = read(write_bytes(tmp_path / "cut.jsonl", data[:end]), redactor)
        assert contents(said) == contents(whole)[: len(said)]
        assert [m.doc_id for m in said] == [m.doc_id for m in whole[: len(said)]]
        assert len(seen.entries) in (data[:end].count(b"\n") - 1, data[:end].count(b"\n"))


def test_the_labelled_set_has_its_166_turns(labelled: Read, shared_data: Path) -> None:
    labels = json.loads((shared_data / "evalset" / "labels.json").read_text(encoding="utf-8"))
    grouped = {(name, turn.turn_index): turn for name, (_, _, turns_) in labelled.items() for turn in turns_}

    assert len(labelled) == 24
    assert len(grouped) == 166
    off_path = {key for key, turn in grouped.items() if not turn.on_active_path}
    assert off_path == {(d["session_id"], d["turn_index"]) for d in labels["abandoned"]}
    for copy in labels["duplicate_turns"]:
        original = copy["same_as"]
        one, other = (
            grouped[copy["session_id"], copy["turn_index"]],
            grouped[original["session_id"], original["turn_index"]],
        )
        assert (one.text, one.fingerprint, one.started_at) == (other.text, other.fingerprint, other.started_at)


def test_labelled_facts_stand_in_the_turns_they_name(labelled: Read, shared_data: Path) -> None:
    labels = json.loads((shared_data / "evalset" / "labels.json").read_text(encoding="utf-8"))
    grouped = {(name, turn.turn_index): turn for name, (_, _, turns_) in labelled.items() for turn in turns_}
    for fact in labels["facts"]:
        text = grouped[fact["session_id"], fact["turn_index"]].text.lower()
        assert all(term in text for term in fact["key_terms"]), fact["id"]
        assert grouped[fact["session_id"], fact["turn_index"]].on_active_path == fact["on_active_path"]
    for recalled in labels["recalled_memory"]:
        everything = "".join(turn.text.lower() for turn in grouped.values())
        assert not [marker for marker in recalled["markers"] if marker.lower() in everything]


def test_planted_secrets_that_the_rules_know_are_gone(
    shared_data: Path, tmp_path: Path, redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("unpack", shared_data / "evalset" / "unpack.py")
    assert spec and spec.loader
    unpack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(unpack)
    monkeypatch.setattr(sys, "argv", ["unpack.py", str(tmp_path)])
    unpack.main()
    secrets: list[str] = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))["secrets"]
    stored = "".join(
        m.model_dump_json() for _, said, _ in read_all(tmp_path / "sessions", redactor).values() for m in said
    )
    raw = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "sessions").rglob("*.jsonl"))

    assert len(secrets) == 3
    assert all(secret in raw for secret in secrets)
    # Whether a line gives its secret away is for the rules to say; what they know in it is nowhere in the store.
    known = [s for s in secrets if any(s in line and redactor.redact(line).count for line in raw.split("\n"))]
    assert known
    assert not [secret for secret in known if secret in stored]
    shutil.rmtree(tmp_path / "sessions")
