"""What people reported of session files that came, went or changed, up to what the store holds of them."""

from __future__ import annotations

import os
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.documents import RawMessage, SessionManifest
from memory_pipeline.errors import InputError, NotASession, StoreError
from memory_pipeline.ingestion.indexing import record_session
from memory_pipeline.ingestion.planning import plan_index
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import discover
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.redaction.rules import KEY, cache_folder
from memory_pipeline_tests.sessions.logs import assistant, encode, entry, header, message, result, user
from memory_pipeline_tests.support.child import folder_for_all, hand_over, in_child

TURN = [user("u1", None, "Which port?"), assistant("a1", "u1", "Port 4173.")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / "--p--"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def log(folder: Path) -> Path:
    return folder / "2026-01-01T00-00-00-000Z_s1.jsonl"


def contents(index: Indexer) -> list[str]:
    return [m.content for m in index.messages()]


def test_a_session_that_appears_in_one_go_is_read_whole(log: Path, index: Indexer, store: MemoryStore) -> None:
    assert discover(index.settings).files == ()
    assert plan_index(discover(index.settings).files, store).due == ()
    log.write_bytes(encode(header(), *TURN))
    (file,) = plan_index(discover(index.settings).files, store).new
    index(file.path)

    assert contents(index) == ["Which port?", "Port 4173."]
    assert plan_index(discover(index.settings).files, store).unchanged == 1


def slot(title: str) -> bytes:
    """omp's first line: 256 bytes, whatever the title."""
    line = encode({"type": "title", "v": 1, "title": title, "source": "auto", "updatedAt": "x", "pad": ""})
    return line.replace(b'"pad": ""', b'"pad": "' + b" " * (256 - len(line)) + b'"')


def test_a_title_that_is_overwritten_in_place_renames_the_session_and_touches_no_message(
    log: Path, index: Indexer
) -> None:
    log.write_bytes(slot("Fix login") + encode(header(), *TURN))
    first = index(log)
    before = index.messages()
    with log.open("r+b") as stream:
        stream.write(slot("Fix logout"))
    second = index(log)

    assert log.stat().st_size == 256 + len(encode(header(), *TURN))
    assert (first.manifest.name, second.manifest.name) == ("Fix login", "Fix logout")
    assert (second.raw.written, second.turns.written, second.problems) == (0, 0, [])
    assert index.messages() == before


EVICTED = "[Compacted history content evicted to durable cold storage]"


@pytest.mark.parametrize(
    "text", ["Port 4173.", "Port 4173, as was decided in March, for the tests need the other one."]
)
def test_text_that_a_fork_of_pi_evicts_from_its_file_stays(log: Path, index: Indexer, text: str) -> None:
    log.write_bytes(encode(header(), user("u1", None, "Which port?"), assistant("a1", "u1", text)))
    index(log)
    evicted = assistant("a1", "u1", EVICTED) | {"evictedContent": {"ref": "x"}}
    log.write_bytes(encode(header(), user("u1", None, EVICTED), evicted, user("u2", "a1", "And the host?")))
    again = index(log)

    assert contents(index) == ["Which port?", text, "And the host?"]
    assert next(turn.text for turn in index.turns()) == f"User: Which port?\nAssistant: {text}"
    assert again.manifest.problem_count == 1


def test_another_process_s_turns_that_a_rewrite_drops_stay(log: Path, index: Indexer) -> None:
    mine = [user("u2", "a1", "Mine."), assistant("a2", "u2", "Mine too.")]
    other = [user("u3", "a1", "The other's."), assistant("a3", "u3", "The other's too.")]
    log.write_bytes(encode(header(), *TURN, *mine, *other))
    index(log)
    log.write_bytes(encode(header(), *TURN, *mine))
    index(log)

    assert set(contents(index)) >= {"Mine.", "Mine too.", "The other's.", "The other's too."}


def test_a_file_with_odd_signs_stops_neither_itself_nor_the_next(folder: Path, index: Indexer) -> None:
    odd = [user("a", None, "a\0b \ud83d \x1b[31mred"), result("b", "a", "\udc88", tool="x\0y")]
    (folder / "1_s1.jsonl").write_bytes(encode(header(cwd="/p\udfff\0"), *odd))
    (folder / "2_s2.jsonl").write_bytes(encode(header(id="s2"), *TURN))
    for file in discover(index.settings).files:
        index(file.path)

    assert contents(index) == ["ab \ufffd red", "\ufffd", "Which port?", "Port 4173."]


NOTHING = {"empty": b"", "lf": b"\n", "spaces": b"   ", "null": b"null", "list": b"[]\n", "header": encode(header())}


def test_files_that_hold_nothing_stop_nothing(folder: Path, index: Indexer, store: MemoryStore) -> None:
    for name, data in NOTHING.items():
        (folder / f"{name}_s1.jsonl").write_bytes(data)
    (folder / "folder_s1.jsonl").mkdir()
    (folder / "good_s1.jsonl").write_bytes(encode(header(), *TURN))
    found = discover(index.settings)
    for file in found.files:
        index(file.path)

    assert [file.session_id for file in found.files] == ["header_s1", "good_s1"] or len(found.files) == 2
    assert {path.name for path, _ in found.refused} == {f"{name}_s1.jsonl" for name in NOTHING if name != "header"}
    assert contents(index) == ["Which port?", "Port 4173."]
    with pytest.raises(NotASession, match="is empty"):
        index(folder / "empty_s1.jsonl")


def test_a_file_that_goes_between_listing_and_reading_costs_only_itself(
    folder: Path, index: Indexer, store: MemoryStore, redactor: Redactor
) -> None:
    for name in ("a_s1", "b_s2"):
        (folder / f"{name}.jsonl").write_bytes(encode(header(id=name[2:]), *TURN))
    files = discover(index.settings).files
    gone, data = folder / "a_s1.jsonl", encode(header(), *TURN)
    gone.unlink()
    recorded = [record_session(f, store=store, redactor=redactor, settings=index.settings).manifest for f in files]
    by_id = {manifest.doc_id: manifest.quarantine for manifest in recorded}

    assert by_id["a_s1"] and "does not exist" in by_id["a_s1"]
    assert by_id["b_s2"] is None
    gone.write_bytes(data)
    assert index(gone).manifest.quarantine is None


def test_two_projects_that_share_a_folder_s_name_are_two(folder: Path, index: Indexer) -> None:
    for id, cwd in (("s1", "/a/b-c"), ("s2", "/a-b/c")):
        (folder / f"x_{id}.jsonl").write_bytes(encode(header(id=id, cwd=cwd), *TURN))
    for file in discover(index.settings).files:
        index(file.path)

    assert {(m.session_id, m.cwd, m.project) for m in index.messages()} == {
        ("x_s1", "/a/b-c", "/a/b-c"),
        ("x_s2", "/a-b/c", "/a-b/c"),
    }


def test_a_secret_in_any_field_is_in_no_byte_of_the_store(log: Path, index: Indexer, store: MemoryStore) -> None:
    secret = fakes.token()
    failed = message("e", "c", "assistant", [], stopReason="error", errorMessage=f"401 for {secret}", model="m")
    call = {"type": "toolCall", "id": "x", "name": f"use-{secret}", "arguments": {secret: [f"k={secret}"]}}
    thinking = {"type": "thinking", "thinking": secret, "thinkingSignature": secret}
    rows: list[Any] = [
        header(cwd=f"/p/{secret}", parentSession=f"/old/{secret}.jsonl", title=secret),
        entry("session_info", "n", None, name=f"Deploy with {secret}"),
        message("y", "n", "system", secret, sections={f"s {secret}": secret}),
        user("a", "y", f"My token is {secret}."),
        message("b", "a", "assistant", [thinking, call], model=secret, provider=secret, stopReason="toolUse"),
        result("c", "b", secret, tool=secret, details={"truncation": {"content": secret}, "fullOutputPath": secret}),
        failed,
        message("f", "e", "bashExecution", None, command=f"echo {secret}", output=secret, exitCode=0),
        entry("custom_message", "g", "f", customType=secret, content=secret, details={"x": secret}),
        entry("compaction", "h", "g", summary=f"They said {secret}", firstKeptEntryId=secret),
        entry("branch_summary", "i", "h", summary=secret, fromId=secret),
        entry("label", "j", "i", label=secret, targetId=secret),
        entry(f"unknown {secret}", secret, "j"),
        f'{{"torn {secret}": "{secret}',
        user("k", secret, "The end."),
    ]
    log.write_bytes(encode(*rows))
    indexed = index(log)
    stored = "".join(m.model_dump_json() for m in [*index.messages(), *index.turns(), indexed.manifest])
    files = [path for path in index.settings.data_dir.rglob("*") if path.is_file()]

    assert secret not in stored
    assert stored.count("[redacted:") > 15
    assert any(path.stat().st_size for path in files)
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert [p.reason for p in indexed.manifest.problems if secret in p.reason] == []


# --- what root cannot feel, and what a disk does ---


def _index_all(folder: Path) -> list[str]:
    settings = load_settings(env_file=None, data_dir=folder / "data", sessions_dir=folder / "sessions")
    redactor = Redactor(folder / "rules", KEY)
    found = discover(settings)
    with open_store(settings) as store:
        for file in found.files:
            Indexer(settings, store, redactor)(file.path)
    return [reason for _, reason in found.problems]


def _counts(folder: Path) -> tuple[int, int]:
    settings = load_settings(env_file=None, data_dir=folder / "data")
    with open_store(settings) as store:
        return store.count(SessionManifest), store.count(RawMessage)


def _import_everything() -> None:
    """Index one session, so that what is imported on the way is there."""
    with folder_for_all() as folder:
        (folder / "sessions").mkdir()
        (folder / "sessions" / "x_s1.jsonl").write_bytes(encode(header(), *TURN))
        shutil.copytree(os.environ["COMPILED_RULES"], folder / "rules")
        _index_all(folder)


def as_nobody(function: Callable[[Path], Any], folder: Path) -> Any:
    """The function on the folder, as a user whom permissions stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILED_RULES", str(folder / "rules"))
        return in_child(function, folder, first=_import_everything, as_nobody=True)


@pytest.fixture
def away(tmp_path_factory: pytest.TempPathFactory, redactor: Redactor) -> Iterator[Path]:
    """A home that another user may use: two sessions in folders of their own, and compiled rules."""
    redactor.redact("compile the rules")
    with folder_for_all() as folder:
        shutil.copytree(cache_folder(tmp_path_factory), folder / "rules")
        for id in ("s1", "s2"):
            path = folder / "sessions" / f"--{id}--" / f"x_{id}.jsonl"
            path.parent.mkdir(parents=True)
            path.write_bytes(encode(header(id=id), *TURN))
        hand_over(folder)
        yield folder


def _with_a_closed_root(folder: Path) -> tuple[tuple[int, int], str, tuple[int, int]]:
    _index_all(folder)
    before = _counts(folder)
    (folder / "sessions").chmod(0)
    try:
        _index_all(folder)
    except InputError as error:
        return before, str(error), _counts(folder)
    raise AssertionError("it was read")


def test_a_sessions_folder_that_can_t_be_read_is_no_empty_one(away: Path) -> None:
    before, sentence, after = as_nobody(_with_a_closed_root, away)

    assert "no permission" in sentence
    assert before == after == (2, 4)


def _with_one_closed(folder: Path) -> list[tuple[list[str], tuple[int, int]]]:
    _index_all(folder)
    found = []
    for closed in ("--s1--", "--s1--/x_s1.jsonl"):
        other = folder / "sessions" / "--s2--" / "x_s2.jsonl"
        other.write_bytes(other.read_bytes() + encode(user(closed, "a1", "More?")))
        path = folder / "sessions" / closed
        path.chmod(0)
        found.append((_index_all(folder), _counts(folder)))
        path.chmod(0o700)
    return found


def test_what_can_t_be_read_today_stays_as_it_was_read_before(away: Path) -> None:
    by_folder, by_file = as_nobody(_with_one_closed, away)

    for (problems, counts), messages in ((by_folder, 5), (by_file, 6)):
        assert len(problems) == 1
        assert "no permission" in problems[0]
        assert counts == (2, messages)


def _on_a_full_disk(folder: Path) -> tuple[str, tuple[int, int]]:
    ordinary = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, ordinary[1]))
    try:
        _index_all(folder)
    except StoreError as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, ordinary)
        _index_all(folder)
        return str(error), _counts(folder)
    raise AssertionError("the disk was not full")


def test_a_full_disk_is_told_and_what_it_cost_is_made_good(away: Path) -> None:
    path = away / "sessions" / "--s1--" / "x_s1.jsonl"
    path.write_bytes(path.read_bytes() + encode(user("u2", "a1", "word " * 200_000)))
    sentence, counts = as_nobody(_on_a_full_disk, away)

    assert re.search("full|space|disk", sentence)
    assert counts == (2, 5)
