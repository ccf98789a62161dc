"""``doctor``: each part tried, and what to do about the one that does not work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.interfaces import doctor
from memory_pipeline.interfaces.doctor import Finding, findings
from memory_pipeline.orchestration.home import open_instance
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import SessionWriter
from memory_pipeline_tests.support.scripted_server import (
    Answer,
    Request,
    Script,
    ScriptedServer,
    capable,
    chat_completion,
    error,
    models,
    word_embeddings,
)

PARTS = ["Python", "sessions", "data folder", "redaction", "store", "embeddings", "distilling", "Dagster"]
Examine = Callable[..., dict[str, Finding]]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.always("/v1/models", models("words"))
        running.always("/v1/embeddings", word_embeddings())
        yield running


@pytest.fixture
def examine(
    tmp_path: Path,
    compiled_rules: Path,
    models_dir: Path,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Examine:
    """The findings by part, with a session, a server that embeds, and no llama.cpp where one usually listens."""
    data, sessions = tmp_path / "data", tmp_path / "sessions"
    shutil.copytree(compiled_rules, data / "redaction")
    SessionWriter(sessions).turn("hi", "Hello!")
    monkeypatch.setattr(doctor, "COMMON_LLAMA", "http://127.0.0.1:9")

    def examined(**settings: Any) -> dict[str, Finding]:
        given = {"data_dir": data, "sessions_dir": sessions, "models_dir": models_dir, "embeddings": "llama"}
        given["embeddings_url"] = server.url
        found = list(findings(load_settings(env_file=None, **{**given, **settings})))
        assert [finding.part for finding in found] == PARTS
        return {finding.part: finding for finding in found}

    return examined


def test_each_part_works_in_a_new_home_with_the_models_there(command: CommandLine) -> None:
    SessionWriter(command.sessions).turn("hi", "Hello!")
    lines = command("doctor").stdout.splitlines()
    assert len(lines) == len(PARTS)
    for part, line in zip(PARTS, lines, strict=True):
        sign, rest = line.split(maxsplit=1)
        assert rest.startswith(part), line
        assert sign == "ok" or (part in ("store", "distilling") and sign == "note"), line
    (embeddings,) = (line for line in lines if "embeddings" in line)
    assert "all-MiniLM-L6-v2, 384 dimensions" in embeddings
    assert not (command.data / "memory.db").exists()


def test_a_missing_embedding_model_fails_with_the_remedy_and_the_other_parts_are_still_tried(
    command: CommandLine, tmp_path: Path
) -> None:
    SessionWriter(command.sessions).turn("hi", "Hello!")
    command.models = tmp_path / "no models"
    lines = command("doctor", code=1).stdout.splitlines()
    (failed,) = (line for line in lines if line.startswith("fail"))
    assert "embeddings" in failed
    assert "memory-pipeline models pull" in failed
    assert len(lines) == len(PARTS)


def test_a_model_file_that_was_altered_is_found_out(examine: Examine, models_dir: Path, tmp_path: Path) -> None:
    altered = tmp_path / "models"
    altered.mkdir()
    shutil.copy(models_dir / "installed.json", altered)
    (gguf,) = models_dir.glob("all-MiniLM*.gguf")
    content = bytearray(gguf.read_bytes())
    content[-1] ^= 1
    (altered / gguf.name).write_bytes(content)
    found = examine(embeddings="embedded", models_dir=altered)["embeddings"]
    assert found.ok is False
    assert "altered" in found.sentence
    assert "models pull" in found.sentence


def test_a_llama_cpp_that_answers_where_it_usually_does_is_offered(
    examine: Examine, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "COMMON_LLAMA", server.url)
    found = examine()["distilling"]
    assert found.ok is None
    assert f"LLAMA_URL={server.url}" in found.sentence
    assert "words" in found.sentence


@pytest.mark.parametrize("instead", [error("not found", 404), Answer(b"<html>my own web site</html>")])
def test_something_else_at_that_place_is_not_offered(
    examine: Examine, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, instead: Answer
) -> None:
    with ScriptedServer() as other:
        other.always("/v1/models", instead)
        monkeypatch.setattr(doctor, "COMMON_LLAMA", other.url)
        found = examine()["distilling"]
    assert found.ok is True
    assert "no model needed" in found.sentence


def llama_cpp(server: ScriptedServer, context: int = 8_192) -> None:
    server.always("/props", Answer({"default_generation_settings": {"n_ctx": context}}))


def test_a_chat_server_that_does_its_work_is_named_with_what_it_can_do(
    examine: Examine, server: ScriptedServer
) -> None:
    llama_cpp(server)
    found = examine(llama_url=server.url)["distilling"]
    assert found.ok is True
    assert found.sentence == (
        f"words at {server.url}, context of 8192 tokens, keeps to a JSON schema, does not think aloud"
    )


def test_a_wrong_key_is_found_out_before_a_run_does(examine: Examine, server: ScriptedServer) -> None:
    server.probe = error("no such key", 401)
    found = examine(llama_url=server.url)["distilling"]
    assert found.ok is False
    assert "LLAMA_API_KEY" in found.sentence


def thinks(request: Request) -> Answer:
    return chat_completion("", finish_reason="length", reasoning_content="Okay, the user")


@pytest.mark.parametrize(
    ("probe", "context", "settings", "words"),
    [
        (lambda request: chat_completion("Hello!"), 8_192, {}, ["asked in words only", "llama-server enforces them"]),
        (thinks, 8_192, {}, ["thinks aloud", "--reasoning-budget 0"]),
        (capable, None, {}, ["context of 8192 tokens", "set LLAMA_CONTEXT"]),
        (capable, 2_048, {}, ["context of 2048 tokens", "long turns take many calls", "4096 tokens or more"]),
        (capable, 8_192, {"llama_context": 32_768}, ["LLAMA_CONTEXT is 32768", "no more than 8192"]),
        (
            lambda request: Answer({**capable(request).body, "model": "another-7b"}),
            8_192,
            {},
            ["answers as another-7b", "LLAMA_MODEL"],
        ),
    ],
    ids=["no schema", "thinks", "context unknown", "context short", "context over", "another name"],
)
def test_what_a_chat_server_lacks_is_worth_knowing_with_the_remedy(
    examine: Examine,
    server: ScriptedServer,
    probe: Script,
    context: int | None,
    settings: dict[str, Any],
    words: list[str],
) -> None:
    server.probe = probe
    if context is not None:
        llama_cpp(server, context)
    found = examine(llama_url=server.url, **settings)["distilling"]
    assert found.ok is None
    for word in words:
        assert word in found.sentence


def test_a_server_that_is_not_ready_fails_its_parts_alone(examine: Examine, server: ScriptedServer) -> None:
    server.always("/v1/models", error("loading", 503, headers={"Retry-After": "0"}))
    found = examine(llama_url=server.url)
    assert [part for part in PARTS if found[part].ok is False] == ["embeddings", "distilling"]
    assert "out of order (503)" in found["distilling"].sentence


def test_a_sessions_folder_that_is_missing_fails_with_the_variable(examine: Examine, tmp_path: Path) -> None:
    found = examine(sessions_dir=tmp_path / "nowhere")["sessions"]
    assert found.ok is False
    assert "MEMORY_SESSIONS_DIR" in found.sentence


def test_files_that_are_left_out_and_an_empty_folder_are_worth_knowing(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "notes.jsonl").write_text("")
    found = examine()["sessions"]
    assert found.ok is True
    assert "1 other files are left out" in found.sentence
    (tmp_path / "empty").mkdir()
    assert examine(sessions_dir=tmp_path / "empty")["sessions"].ok is None


def test_a_store_that_is_no_store_fails(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "data" / "memory.db").write_text("these are my notes, not a database\n" * 100)
    found = examine()["store"]
    assert found.ok is False
    assert "memory.db" in found.sentence


def test_runs_that_died_with_their_process_are_worth_knowing(examine: Examine, tmp_path: Path) -> None:
    import dagster as dg

    from memory_pipeline.orchestration.build import build_definitions
    from memory_pipeline.orchestration.leftovers import PROCESS_TAG, this_process

    host, process, started = this_process().rsplit(":", 2)
    with open_instance(load_settings(env_file=None, data_dir=tmp_path / "data")) as instance:
        instance.create_run_for_job(
            build_definitions().resolve_job_def("enrich_sessions"),
            status=dg.DagsterRunStatus.STARTED,
            tags={PROCESS_TAG: f"{host}:{process}:{float(started) - 3600:.2f}"},
        )
    found = examine()["Dagster"]
    assert found.ok is None
    assert "1 runs died" in found.sentence
