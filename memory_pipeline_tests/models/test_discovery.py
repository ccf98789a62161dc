"""What doctor learns of a server."""

from __future__ import annotations

import time

import pytest

from memory_pipeline.errors import SettingsError
from memory_pipeline.models import ServerInfo, probe_server, same_model
from memory_pipeline_tests.support.scripted_server import Answer, ScriptedServer, error, models


def test_a_llama_cpp_server_tells_its_models_and_context(server: ScriptedServer) -> None:
    server.always("/v1/models", models("/srv/Qwen3-4B.gguf"))
    server.always("/props", Answer({"default_generation_settings": {"n_ctx": 16384}}))
    assert probe_server(server.url + "/v1") == ServerInfo(server.url, ("Qwen3-4B",), 16384)


def test_another_server_tells_its_models(server: ScriptedServer) -> None:
    server.always("/v1/models", models("a", "b"))
    assert probe_server(server.url) == ServerInfo(server.url, ("a", "b"), None)


@pytest.mark.parametrize(
    "answer",
    [
        error("no key", 401),
        error("down", 503),
        Answer(b"<html>A site</html>"),
        Answer({"jobs": []}),
        Answer(hang_up=True),
    ],
)
def test_what_is_no_model_server_is_nothing_and_asked_once(server: ScriptedServer, answer: Answer) -> None:
    server.always("/v1/models", answer)
    assert probe_server(server.url) is None
    assert server.calls("/v1/models") == 1


def test_a_server_that_does_not_answer_costs_a_second(server: ScriptedServer) -> None:
    server.always("/v1/models", Answer({}, delay=30))
    started = time.monotonic()
    assert probe_server(server.url) is None
    assert time.monotonic() - started < 2


def test_an_address_that_is_none_is_a_mistake_in_the_settings() -> None:
    with pytest.raises(SettingsError, match="LLAMA_URL"):
        probe_server("http://localhost:port")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("Qwen3-4B", "qwen/qwen3-4b", True),
        ("qwen3:latest", "qwen3", True),
        ("qwen3-4b", "qwen3-8b", False),
        ("llama", "codellama", False),
    ],
)
def test_names_of_one_model_are_told_from_names_of_two(one: str, other: str, same: bool) -> None:
    assert same_model(one, other) is same
