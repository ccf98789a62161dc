"""What a user's mistake gets: one sentence with the remedy and a non-zero exit, never a traceback."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import SessionWriter


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "home")


def one_sentence(err: str) -> str:
    lines = [line for line in err.splitlines() if line.startswith("Error:")]
    assert len(lines) == 1, err
    return lines[0]


@pytest.mark.parametrize("arguments", [("search", "anything"), ("status",), ("export",)])
def test_an_empty_store_is_no_mistake(command: CommandLine, arguments: tuple[str, ...]) -> None:
    result = command(*arguments)
    assert "no memories" in result.stdout + result.stderr


def test_an_empty_sessions_folder_is_no_mistake(command: CommandLine) -> None:
    command.sessions.mkdir(parents=True)
    assert "no session logs yet" in command("run").stdout


def test_a_missing_sessions_folder_is_named(command: CommandLine) -> None:
    sentence = one_sentence(command("run", "--sessions", "/nowhere/at/all", code=1).stderr)
    assert "/nowhere/at/all" in sentence


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LLAMA_URL", "localhost"),
        ("MEMORY_STORE", "mongodb"),
        ("MEMORY_EMBEDDINGS_DIMS", "many"),
        ("MEMORY_TIMEZONE", "Mars/Olympus"),
        ("MEMORY_SETTLE_SECONDS", "-1"),
    ],
)
def test_a_wrong_setting_is_named_by_its_variable(command: CommandLine, variable: str, value: str) -> None:
    command.env[variable] = value
    sentence = one_sentence(command("run", code=1).stderr)
    assert variable in sentence
    assert value in sentence


def test_a_wrong_key_is_not_shown(command: CommandLine) -> None:
    command.env |= {"ES_URL": "not an address", "ES_API_KEY": "the-key-itself"}
    assert "the-key-itself" not in command("run", code=1).stderr


def test_a_data_folder_that_is_a_file_is_named(command: CommandLine, tmp_path: Path) -> None:
    SessionWriter(command.sessions).turn("hi", "Hello!")
    (tmp_path / "occupied").write_text("")
    command.env["MEMORY_DATA_DIR"] = str(tmp_path / "occupied")
    assert "MEMORY_DATA_DIR" in one_sentence(command("run", code=1).stderr)


def test_a_store_that_is_no_store_is_named_and_left_alone(command: CommandLine) -> None:
    SessionWriter(command.sessions).turn("hi", "Hello!")
    command.data.mkdir(parents=True)
    store = command.data / "memory.db"
    store.write_text("these are my notes, not a database\n" * 100)
    assert str(store) in one_sentence(command("run", code=1).stderr)
    assert store.read_text().startswith("these are my notes")


def test_an_unknown_id_is_said_to_be_unknown(command: CommandLine) -> None:
    SessionWriter(command.sessions).turn("hi", "Hello!")
    command("run", "--limit", "0")
    assert "nosuchid" in one_sentence(command("show", "nosuchid", code=1).stderr)


def test_a_port_in_use_is_named(command: CommandLine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert str(port) in one_sentence(command("ui", "--port", str(port), code=1).stderr)


def test_a_tier_that_does_not_exist_is_refused(command: CommandLine) -> None:
    assert "summaries" in command("export", "--tier", "dreams", code=2).stderr


def test_a_file_whose_reading_fails_costs_only_itself(command: CommandLine) -> None:
    good = SessionWriter(command.sessions).turn("hi", "Hello!")
    bad = command.sessions / "--home-ann-src-app--" / "bad.jsonl"
    bad.symlink_to("/proc/self/mem")  # reading it is an I/O error, as on a bad disk
    result = command("run", "--limit", "0")
    assert str(bad) in result.stderr
    assert [turn["session_id"] for turn in command.export("--tier", "turns")] == [good.session_id]


def test_a_broken_history_of_dagster_is_named_and_does_not_hide_the_memories(command: CommandLine) -> None:
    SessionWriter(command.sessions).turn("hi", "Hello!")
    command("run", "--limit", "0")
    for database in (command.data / "dagster").rglob("*.db*"):
        database.write_bytes(b"this is no database" * 100)
    session = SessionWriter(command.sessions, cwd="/home/ann/src/other").turn("hi", "Hello!")
    assert "Dagster's history" in one_sentence(command("run", code=1).stderr)
    status = command("status")
    assert "sessions indexed" in status.stdout
    assert "Dagster's history" in status.stderr
    assert session.path.exists()


def test_an_export_is_utf_8_on_any_terminal_and_each_document_is_one_line(command: CommandLine) -> None:
    text = "Straße \u2028 次 \u0085 end"
    SessionWriter(command.sessions).turn(text, "Hello!")
    command("run", "--limit", "0")
    command.env |= {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    (turn,) = command.export("--tier", "turns")
    assert text in turn["text"]
    assert len(command("export", "--tier", "turns").stdout.splitlines()) == 1
    assert command("search", "Straße").returncode == 0


def test_more_results_than_a_store_gives_are_refused(command: CommandLine) -> None:
    assert "-k" in command("search", "anything", "-k", "100000", code=2).stderr
