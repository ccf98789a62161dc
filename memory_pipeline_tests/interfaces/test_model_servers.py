"""``run`` with model servers: what is asked of them, how often, and what a person reads when they do not answer."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import START, SessionWriter
from memory_pipeline_tests.support.scripted_server import (
    Answer,
    Request,
    Script,
    ScriptedServer,
    chat_completion,
    error,
    models,
    word_embeddings,
)

CHAT, EMBEDDINGS = "/v1/chat/completions", "/v1/embeddings"
BROKEN = '{"memories": [{"summary": "Port'
NOTHING = '{"memories": []}'


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.always("/v1/models", models("capable-7b"))
        running.always(EMBEDDINGS, word_embeddings())
        yield running


@pytest.fixture
def command(command: CommandLine, server: ScriptedServer) -> CommandLine:
    command.env |= {"LLAMA_URL": server.url, "MEMORY_EMBEDDINGS": "llama", "MEMORY_EMBEDDINGS_URL": server.url}
    return command


def memories(*summaries: str) -> str:
    return json.dumps({"memories": [{"summary": text, "tags": ["port", "host", "preview"]} for text in summaries]})


def by_turn(answers: dict[str, str]) -> Script:
    """The answer whose key is a word of the turn."""

    def answer(request: Request) -> Answer:
        turn = request.json()["messages"][-1]["content"]
        return chat_completion(next(content for word, content in answers.items() if word in turn))

    return answer


def talk(command: CommandLine) -> SessionWriter:
    """One session with a turn that is worth something and one that is not."""
    return SessionWriter(command.sessions).turn("Which port?", "Port 4173.").turn("Thanks!", "You are welcome.")


TALK = {"4173": memories("The preview uses port 4173."), "welcome": NOTHING}


def distillation(command: CommandLine) -> dict[str, dict[str, Any]]:
    """Turn id → its state of distillation."""
    return {turn["turn_id"]: turn["distillation"] for turn in command.export("--tier", "turns")}


def stopped(err: str) -> str:
    """The one sentence that says why a run ended early."""
    sentences = [line for line in err.splitlines() if line.startswith("Stopped:")]
    assert len(sentences) == 1, err
    return sentences[0]


def test_memories_come_from_the_server_and_no_turn_is_asked_about_twice(
    command: CommandLine, server: ScriptedServer
) -> None:
    session = talk(command)
    server.always(CHAT, by_turn(TALK))
    assert "capable-7b" in command("run").stderr
    (memory,) = command.export("--tier", "summaries")
    assert (memory["summary"], memory["model"]) == ("The preview uses port 4173.", "capable-7b")
    turn = f"{session.session_id}_0"
    assert memory["source_refs"] == [
        {"session_id": session.session_id, "turn_id": turn, "doc_id": f"{session.session_id}_{turn}_1"}
    ]
    assert [state["state"] for state in distillation(command).values()] == ["stored", "none"]
    assert (server.calls(CHAT), server.calls(EMBEDDINGS), memory["embedding_model"]) == (2, 1, "capable-7b")
    asked = len(server.requests)
    command("run")
    assert len(server.requests) == asked


def test_an_answer_that_is_no_json_costs_its_turn_which_is_asked_about_again(
    command: CommandLine, server: ScriptedServer
) -> None:
    session = talk(command)
    server.always(CHAT, by_turn({**TALK, "4173": BROKEN}))
    err = command("run").stderr
    assert f"turn {session.session_id}_0: invalid" in err
    assert BROKEN not in err
    assert [state["state"] for state in distillation(command).values()] == ["invalid", "none"]
    server.always(CHAT, by_turn(TALK))
    command("run")
    assert server.calls(CHAT) == 3
    assert [(state["state"], state["attempts"]) for state in distillation(command).values()] == [
        ("stored", 2),
        ("none", 1),
    ]


def test_a_server_that_always_fails_is_given_up_after_three_turns(command: CommandLine, server: ScriptedServer) -> None:
    for number in range(5):
        SessionWriter(command.sessions, cwd=f"/home/ann/src/app{number}").turn(
            f"Which port does app{number} use?", f"Port {4170 + number}."
        )
    # Asked to come back at once, or each try would take seconds.
    server.always(CHAT, error("out of memory", 500, headers={"Retry-After": "0"}))
    sentence = stopped(command("run", code=1).stderr)
    assert server.url in sentence
    assert "out of order (500)" in sentence
    assert "out of memory" not in sentence  # a server in trouble may echo the prompt
    assert server.calls(CHAT) == 3 * 4
    assert sorted(state["state"] for state in distillation(command).values()) == ["outage"] * 3 + ["pending"] * 2
    (found, *_) = json.loads(command("search", "4173", "--json").stdout)
    assert found["tier"] == "turns"
    server.always(CHAT, chat_completion(NOTHING))
    command("run")
    assert {state["state"] for state in distillation(command).values()} == {"none"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (error("out of memory", 500, headers={"Retry-After": "0"}), "out of order (500)"),
        (error("no such key", 401), "refused"),
        (Answer(b'{"choices": []}'), "no chat completion"),
        (chat_completion("I would rather write a poem."), "not JSON"),
    ],
    ids=["500", "401", "no completion", "prose"],
)
def test_one_turn_that_gets_no_usable_answer_is_said_at_the_end_and_by_the_exit_code(
    command: CommandLine, server: ScriptedServer, answer: Answer, reason: str
) -> None:
    SessionWriter(command.sessions).turn("Which port?", "Port 4173.")
    server.always(CHAT, answer)
    err = command("run", code=1).stderr
    (sentence,) = [line for line in err.splitlines() if line.startswith("Failed:")]
    assert "1 of 1 turns" in sentence
    assert reason in sentence
    assert "doctor" in sentence
    server.always(CHAT, chat_completion(NOTHING))
    command("run")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory, models_dir: Path, compiled_rules: Path) -> CommandLine:
    """A home whose turns are indexed and wait; runs that fail before they begin leave it as it is."""
    command = CommandLine(tmp_path_factory.mktemp("indexed") / "home", models=models_dir, rules=compiled_rules)
    talk(command)
    command("run", "--limit", "0")
    return command


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_down_is_named_within_seconds_and_words_are_searched_without_it(
    indexed: CommandLine,
) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    indexed.env = {"LLAMA_URL": url, "MEMORY_EMBEDDINGS": "llama"}
    started = time.monotonic()
    sentence = stopped(indexed("run", code=1).stderr)
    assert time.monotonic() - started < 40
    assert url in sentence
    assert "LLAMA_URL" in sentence
    assert [state["state"] for state in distillation(indexed).values()] == ["pending"] * 2
    (found, *_) = json.loads(indexed("search", "4173", "--json").stdout)
    assert found["tier"] == "turns"


def test_a_model_that_the_server_has_not_is_answered_by_those_it_has(
    indexed: CommandLine, server: ScriptedServer
) -> None:
    server.always("/v1/models", models("capable-7b", "small-1b"))
    indexed.env = {
        "LLAMA_URL": server.url,
        "LLAMA_MODEL": "capabel-7b",
        "MEMORY_EMBEDDINGS": "llama",
        "MEMORY_EMBEDDINGS_MODEL": "small-1b",
    }
    sentence = stopped(indexed("run", code=1).stderr)
    assert "capabel-7b" in sentence
    assert "capable-7b, small-1b" in sentence
    assert "LLAMA_MODEL" in sentence
    assert server.calls(CHAT) == 0


def test_a_web_page_in_a_server_s_place_is_named(indexed: CommandLine, server: ScriptedServer) -> None:
    page = Answer(b"<!DOCTYPE html><html><body>Please log in</body></html>", headers={"Content-Type": "text/html"})
    server.always("/v1/models", page)
    indexed.env = {"LLAMA_URL": server.url, "MEMORY_EMBEDDINGS": "llama"}
    sentence = stopped(indexed("run", code=1).stderr)
    assert server.url in sentence
    assert "LLAMA_URL" in sentence
    assert "<html" not in sentence


def test_the_same_turn_in_a_fork_is_asked_about_once(command: CommandLine, server: ScriptedServer) -> None:
    session = SessionWriter(command.sessions).turn("Which port?", "Port 4173.")
    other = "0f0f0f0f-0000-4000-8000-000000000000"
    fork = session.path.with_name(f"2026-03-09T00-00-00-000Z_{other}.jsonl")
    fork.write_text(session.path.read_text().replace(session.id, other))
    server.always(CHAT, by_turn(TALK))
    command("run")
    assert server.calls(CHAT) == 1
    (memory,) = command.export("--tier", "summaries")
    assert [ref["session_id"] for ref in memory["source_refs"]] == [session.session_id, fork.stem]


def test_another_embedding_model_is_refused_until_all_vectors_are_made_anew(
    command: CommandLine, server: ScriptedServer
) -> None:
    del command.env["LLAMA_URL"]
    server.always("/v1/models", models("words-small", "words-large"))
    decide(command, 1)
    command("run")
    decide(command, 2)
    command.env["MEMORY_EMBEDDINGS_MODEL"] = "words-large"
    sentence = stopped(command("run", code=1).stderr)
    assert "words-small" in sentence
    assert "words-large" in sentence
    assert "run --reembed" in sentence
    assert embedded_by(command) == ["words-small"]
    command("run", "--reembed")
    assert embedded_by(command) == ["words-large", "words-large"]


def embedded_by(command: CommandLine) -> list[str | None]:
    """The model of each memory's vector, oldest memory first."""
    found = sorted(command.export("--tier", "summaries"), key=lambda memory: str(memory["established_at"]))
    return [memory["embedding_model"] for memory in found]


def decide(command: CommandLine, day: int) -> SessionWriter:
    return SessionWriter(command.sessions, started=START + timedelta(days=day)).turn(
        f"Where do the logs of app{day} go?",
        f"They go to `/var/log/app{day}.log`, because `journald` drops lines of app{day} under load.",
    )


def test_what_was_extracted_is_distilled_once_there_is_a_model(command: CommandLine, server: ScriptedServer) -> None:
    url = command.env.pop("LLAMA_URL")
    decide(command, 1)
    command("run")
    (extracted,) = command.export("--tier", "summaries")
    assert extracted["model"] == "extractive"
    command.env["LLAMA_URL"] = url
    server.always(CHAT, chat_completion(memories("Logs of app1 go to /var/log/app1.log.")))
    command("run")
    (distilled,) = command.export("--tier", "summaries")
    assert (distilled["model"], distilled["summary"]) == ("capable-7b", "Logs of app1 go to /var/log/app1.log.")
    command("run")
    assert server.calls(CHAT) == 1


def test_a_small_model_started_here_comes_to_an_outcome(command: CommandLine, models_dir: Path) -> None:
    """What it says is not judged: a model of this size invents."""
    del command.env["LLAMA_URL"]
    (gguf,) = models_dir.glob("SmolLM2*.gguf")
    command.env |= {"MEMORY_CHAT_GGUF": str(gguf), "LLAMA_CONTEXT": "1280"}
    session = SessionWriter(command.sessions).turn("hi", "Hello.")  # it answers this one soon
    run = command.start("run")
    _, err = run.communicate(timeout=240)
    assert gguf.stem in err
    (state,) = distillation(command).values()
    assert run.returncode == (0 if state["state"] in ("none", "stored") else 1), err
    assert (state["engine"], state["model"]) == ("llm", gguf.stem)
    assert state["state"] in ("none", "stored", "truncated", "invalid")
    assert state["completion_tokens"] > 0
    for memory in command.export("--tier", "summaries"):
        assert memory["source_refs"][0]["session_id"] == session.session_id
