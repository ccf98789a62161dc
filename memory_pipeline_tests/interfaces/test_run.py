"""The main job by its one command: session logs in, searchable memories out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import SessionWriter


def decide(command: CommandLine) -> SessionWriter:
    """One session with a decision worth keeping."""
    return SessionWriter(command.sessions).turn(
        "The nightly import keeps dying on the big supplier file. What is going on?",
        "The root cause is the 512 MB memory limit of `import-worker`: `load_rows()` reads the whole CSV at once. "
        "I changed it to stream rows in batches of 2000, because the supplier file grows every month.",
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_recorded_sessions_become_memories_that_cite_their_messages(command: CommandLine, shared_data: Path) -> None:
    shutil.copytree(shared_data / "pi-sessions" / "recorded", command.sessions)
    result = command("run")
    assert "sessions new" in result.stdout
    status = command.status()
    assert status["sessions"] >= 15
    assert status["turns_waiting"] == 0
    raw = {document["doc_id"]: document for document in command.export("--tier", "raw")}
    turns = command.export("--tier", "turns")
    for turn in turns:
        of_turn = {doc_id for doc_id, document in raw.items() if document["turn_id"] == turn["turn_id"]}
        assert turn["message_count"] == len(of_turn)
        assert {ref["doc_id"] for ref in turn["source_refs"]} <= of_turn
    summaries = command.export("--tier", "summaries")
    assert summaries
    for summary in summaries:
        assert summary["source_refs"]
        for ref in summary["source_refs"]:
            assert raw[ref["doc_id"]]["turn_id"] == ref["turn_id"]


def test_a_memory_is_found_by_its_meaning_and_shown_with_its_messages(command: CommandLine) -> None:
    session = decide(command)
    command("run")
    found = json.loads(command("search", "why did the overnight job run out of RAM", "--json").stdout)
    assert found[0]["tier"] == "summaries"
    assert found[0]["session_id"] == session.session_id
    assert found[0]["turn_index"] == 0
    shown = command("show", found[0]["doc_id"]).stdout
    assert "keeps dying on the big supplier file" in shown
    assert "batches of 2000" in shown


def test_a_second_run_changes_nothing(command: CommandLine) -> None:
    decide(command)
    command("run")
    store = command.data / "memory.db"
    before, exported, status = digest(store), command("export").stdout, command.status()
    command("run")
    assert digest(store) == before
    assert command("export").stdout == exported
    assert command.status() == status


def test_only_a_grown_session_s_new_turn_is_distilled(command: CommandLine) -> None:
    session = decide(command)
    other = SessionWriter(command.sessions, cwd="/home/ann/src/other").turn("hi", "Hello!")
    command("run")
    first = {turn["turn_id"]: turn["distillation"] for turn in command.export("--tier", "turns")}
    session.turn(
        "Which port does the preview use?", "The preview server listens on port 4173, set in `vite.config.ts`."
    )
    command("run")
    second = {turn["turn_id"]: turn["distillation"] for turn in command.export("--tier", "turns")}
    assert second[f"{session.session_id}_0"] == first[f"{session.session_id}_0"]
    assert second[f"{other.session_id}_0"] == first[f"{other.session_id}_0"]
    assert second[f"{session.session_id}_1"]["attempts"] == 1


def test_many_sessions_are_indexed_though_no_model_can_embed_and_it_is_told_once(command: CommandLine) -> None:
    for day in range(60):
        SessionWriter(command.sessions, cwd=f"/home/ann/src/app{day}").turn(
            f"What about part {day}?", f"Part {day} uses `queue-{day}` with a limit of {day + 100}, decided for speed."
        )
    command.env["MEMORY_EMBEDDINGS_GGUF"] = str(command.home / "gone.gguf")
    result = command("run", code=1)
    assert result.stderr.count("gone.gguf") == 1
    assert command.status()["turns_waiting"] == 60
    del command.env["MEMORY_EMBEDDINGS_GGUF"]
    assert "Everything indexed" in command("run").stderr
    status = command.status()
    assert (status["turns_waiting"], status["memories"]) == (0, status["vectors"])


def test_a_limit_leaves_the_other_turns_for_the_next_run_and_they_are_found_by_keyword(command: CommandLine) -> None:
    for day in range(3):
        SessionWriter(command.sessions, cwd=f"/home/ann/src/app{day}").turn(
            f"Where do the logs of service{day} go?",
            f"They go to `/var/log/service{day}.log`, because `journald` drops lines of service{day} under load.",
        )
    command("run", "--limit", "1")
    status = command.status()
    assert status["turns_waiting"] == 2
    for day in range(3):
        found = json.loads(command("search", f"/var/log/service{day}.log", "--json").stdout)
        assert f"service{day}" in found[0]["snippet"]
    command("run")
    assert command.status()["turns_waiting"] == 0


def test_a_session_that_can_t_be_read_costs_only_itself(command: CommandLine) -> None:
    decide(command)
    broken = command.sessions / "--home-ann-src-app--" / "2026-03-02T09-00-00-000Z_broken.jsonl"
    broken.write_bytes(
        b'{"type":"session","version":3,"id":"broken","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/p"}\n{"type":"mess\n\xff\xfe\n'
    )
    result = command("run")
    assert command.status()["memories"] == 1
    assert command.status()["problems"] == 2
    assert "problems in files" in result.stdout


def test_a_killed_run_leaves_nothing_that_hangs_the_next(command: CommandLine) -> None:
    """In each part of a run that distils while it indexes; the other run indexes all first."""
    for day in range(120):
        SessionWriter(command.sessions, cwd=f"/home/ann/src/app{day}").turn(
            f"What about part {day}?", f"Part {day} uses `queue-{day}` with a limit of {day + 100}, decided for speed."
        )
    whole = CommandLine(command.home.with_name("whole"), models=command.models, rules=command.rules)
    shutil.copytree(command.sessions, whole.sessions)
    assert "Everything indexed is searchable" in whole("run", "--limit", "120").stderr
    expected = [_without_clock(document) for document in whole.export()]
    for delay in (2.5, 4.0, 5.0, 6.0):
        process = command.start("run")
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    command("run", timeout=90)
    assert [_without_clock(document) for document in command.export()] == expected
    runs = json.loads(command("status", "--json").stdout)["runs"]
    assert not [run for run in runs if run["status"] in ("STARTED", "STARTING", "QUEUED")]


def _without_clock(document: dict[str, object]) -> dict[str, object]:
    """An exported document without what two runs over the same sessions may differ in."""
    distillation = document.get("distillation")
    if isinstance(distillation, dict):
        distillation = {**distillation, "seconds": None, "attempts": None}
    return {**document, "summarized_at": None, "distillation": distillation}


def indexing(command: CommandLine) -> bool:
    """Whether a run is in the middle of its first step, with more to come."""
    waiting = command.data / "memory.db-wal"  # what was written last
    return waiting.exists() and b"app3" in waiting.read_bytes()


def test_ctrl_c_stops_a_run_with_a_sentence_and_the_next_goes_on(command: CommandLine) -> None:
    for day in range(40):
        SessionWriter(command.sessions, cwd=f"/home/ann/src/app{day}").turn(f"Part {day}?", f"It uses `queue-{day}`.")
    process = command.start("run")
    while not indexing(command):
        time.sleep(0.05)
    for _ in range(6):  # libraries below us lose a signal now and then; a person would press the keys again
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=5)
            break
        except subprocess.TimeoutExpired:
            continue
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the next run goes on" in err
    assert "Traceback" not in err
    command("run")
    assert command.status()["turns_waiting"] == 0


def test_two_runs_at_once_are_told_apart(command: CommandLine) -> None:
    decide(command)
    first = command.start("run")
    lock = command.data / "run.lock"
    while not lock.exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    second = command.start("run")
    outputs = [process.communicate(timeout=120) for process in (first, second)]
    codes = [process.returncode for process in (first, second)]
    assert codes in ([0, 0], [0, 1]), outputs
    if codes[1]:
        assert "Another memory-pipeline run" in outputs[1][1]
    command("run")
    assert command.status()["memories"] == 1


def test_where_there_are_no_sessions_the_examples_go_into_a_folder_of_their_own(
    command: CommandLine, project: Path
) -> None:
    command.rules = None
    result = command("run", "--examples-if-none", str(project / "examples" / "sessions"))
    assert "examples" in result.stderr
    assert not command.data.exists()
    data = command.data.with_name("memory-pipeline-examples")
    assert data.is_dir()
    assert "--examples search" in result.stdout
    found = json.loads(command("--examples", "search", "slow website generation", "-k", "3", "--json").stdout)
    assert any("48.2" in hit["snippet"] or "pars" in hit["snippet"] for hit in found)


def test_files_of_the_store_are_the_owner_s_alone(command: CommandLine) -> None:
    decide(command)
    command("run")
    assert command.data.stat().st_mode & 0o777 == 0o700
    for path in command.data.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path


def test_session_files_are_never_written_to(command: CommandLine) -> None:
    session = decide(command)
    before = digest(session.path), session.path.stat().st_mtime_ns
    command("run")
    assert (digest(session.path), session.path.stat().st_mtime_ns) == before
