"""What a run costs is said before, what is done is not done again unless asked for, and a kill loses nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import SessionWriter
from memory_pipeline_tests.support.scripted_server import Answer, Request, ScriptedServer, chat_completion, models

CHAT = "/v1/chat/completions"
SAID = re.compile(r"Assistant: (.+)")
"""What a prompt about a turn holds, and one that asks what the server can do does not."""


@pytest.fixture
def server(command: CommandLine) -> Iterator[ScriptedServer]:
    """A model that remembers of each turn what the assistant said."""
    with ScriptedServer() as running:
        running.always("/v1/models", models("capable"))
        running.always(CHAT, _remembers)
        yield running


def _remembers(request: Request) -> Answer:
    body = request.json()
    prompt = body["messages"][-1]["content"]
    said = SAID.search(prompt)
    if said is None:  # a probe of what the server can do
        return chat_completion("{}")
    memory = {"summary": said[1], "tags": ["queue", "limit", "speed"], "evidence": [said[1]], "language": "en"}
    return Answer(chat_completion(json.dumps({"memories": [memory], "entities": []})).body, delay=0.05)


def asked(server: ScriptedServer) -> int:
    """How many turns the model was asked about."""
    return sum(
        SAID.search(request.json()["messages"][-1]["content"]) is not None for request in server.requests_for(CHAT)
    )


def sessions(command: CommandLine, count: int) -> list[SessionWriter]:
    return [
        SessionWriter(command.sessions, cwd=f"/home/ann/src/app{number}").turn(
            f"What about part {number}?",
            f"Part {number} uses `queue-{number}` with a limit of {number + 100}, decided for speed.",
        )
        for number in range(count)
    ]


def without_clock(document: dict[str, object]) -> dict[str, object]:
    distillation = document.get("distillation")
    if isinstance(distillation, dict):
        distillation = {**distillation, "seconds": None, "attempts": None}
    return {**document, "summarized_at": None, "distillation": distillation}


def digest(folder: Path) -> dict[str, str]:
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_dry_run_says_what_it_would_cost_and_changes_nothing(command: CommandLine, server: ScriptedServer) -> None:
    written = sessions(command, 3)
    said = command("run", "--dry-run").stdout
    assert "3 new" in said
    assert "at most 3 turns" in said
    assert not (command.data / "memory.db").exists()
    command.env["LLAMA_URL"] = server.url
    assert re.search(r"at most 3 turns, about [\d,]+ tokens, an unknown time", command("run", "--dry-run").stdout)
    command("run")
    written[0].turn("And the rest?", "The rest uses `queue-x`.")
    SessionWriter(command.sessions, cwd="/home/ann/src/new").turn("And this?", "This uses `queue-y`.")
    before = digest(command.data)
    said = command("run", "--dry-run").stdout
    assert "1 new, 1 grown or changed, 2 unchanged" in said
    assert re.search(r"at most 2 turns, about 36 tokens, about [\d.]+ s \(at the pace so far\)", said)
    assert digest(command.data) == before
    assert asked(server) == 3


def test_a_run_says_the_estimate_before_and_the_cost_afterwards(command: CommandLine, server: ScriptedServer) -> None:
    sessions(command, 2)
    command.env["LLAMA_URL"] = server.url
    result = command("run")
    assert "at most 2 turns" in result.stderr
    cost = re.search(r"tokens per 1,000 messages\D+([\d,]+)", result.stdout)
    assert cost is not None
    assert cost[1] == "9,000"  # the server counts 18 tokens a turn of two messages
    assert "seconds of distilling per 1,000 messages" in result.stdout


def test_another_model_is_asked_only_when_told_to(command: CommandLine, server: ScriptedServer) -> None:
    sessions(command, 3)
    command.env["LLAMA_URL"] = server.url
    command("run")
    server.always("/v1/models", models("larger"))
    command("run")
    assert asked(server) == 3
    command("run", "--redistill", "--project", "app1")
    assert asked(server) == 4
    made = {m["project"]: m["model"] for m in command.export("--tier", "summaries")}
    assert made == {"/home/ann/src/app0": "capable", "/home/ann/src/app1": "larger", "/home/ann/src/app2": "capable"}
    command("run", "--redistill", "--model", "capable")
    assert asked(server) == 6
    command("run", "--redistill")
    assert asked(server) == 6
    assert {m["model"] for m in command.export("--tier", "summaries")} == {"larger"}


def test_what_selects_is_no_argument_of_a_plain_run(command: CommandLine) -> None:
    result = command("run", "--model", "capable", code=2)
    assert "--redistill" in result.stderr


def test_extracted_memories_are_done_again_by_a_model_so_many_a_run(
    command: CommandLine, server: ScriptedServer
) -> None:
    sessions(command, 5)
    command("run")
    command.env |= {"LLAMA_URL": server.url, "MEMORY_REDISTILL_LIMIT": "2"}
    command("run")
    assert asked(server) == 2
    command("run")
    command("run")
    assert asked(server) == 5
    command("run")
    assert asked(server) == 5
    assert {m["model"] for m in command.export("--tier", "summaries")} == {"capable"}


def test_kill_9_at_any_point_of_distilling_ends_as_if_nothing_had_happened(
    command: CommandLine, server: ScriptedServer, tmp_path: Path
) -> None:
    """What is done is marked after it is stored; what was at work when the process died is done again, once."""
    sessions(command, 8)
    whole = CommandLine(tmp_path / "whole", models=command.models, rules=command.rules)
    whole.env["LLAMA_URL"] = command.env["LLAMA_URL"] = server.url
    whole.env["MEMORY_SESSIONS_DIR"] = str(command.sessions)
    whole("run")
    expected = [without_clock(document) for document in whole.export()]
    first = asked(server)
    for calls in (1, 5):
        process = command.start("run")
        while asked(server) < first + calls:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    command("run", timeout=90)
    assert [without_clock(document) for document in command.export()] == expected
    assert asked(server) <= first + 8 + 2
