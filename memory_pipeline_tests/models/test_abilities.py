"""What a chat server is found to be able to do, and how that changes what it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from memory_pipeline.errors import KeyRefused, ModelAnswerError, ModelOutage, ModelRefused
from memory_pipeline.models import open_chat
from memory_pipeline.models.abilities import PROBE_TOKENS, WORD, forget_abilities
from memory_pipeline.models.contract import Abilities, ChatMessage
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.support.scripted_server import CHAT, Answer, Request, ScriptedServer, chat_completion, error
from memory_pipeline_tests.support.scripted_server import models as listing

KEPT = json.dumps({"word": WORD})
PROPS = {"default_generation_settings": {"n_ctx": 4096}}
SCHEMA = {"type": "object", "properties": {"memories": {"type": "array"}}, "required": ["memories"]}
LENGTHS: dict[str, Any] = {"type": "array", "items": {"type": "string", "maxLength": 400}, "maxItems": 2}


@pytest.fixture
def server(server: ScriptedServer) -> ScriptedServer:
    server.probe = None
    server.always("/v1/models", listing("small"))
    return server


def abilities(server: ScriptedServer) -> Abilities:
    with closing(open_chat(load_settings(env_file=None, llama_url=server.url, llama_timeout=5))) as chat:
        return chat.abilities


def asked(server: ScriptedServer, *, schema: Any = SCHEMA, no_loops: bool = False) -> dict[str, Any]:
    """The body of a real request, after the server was probed."""
    with closing(open_chat(load_settings(env_file=None, llama_url=server.url, llama_timeout=5))) as chat:
        _ = chat.abilities
        server.always(CHAT, chat_completion("{}"))
        question = [ChatMessage("user", "What is worth keeping?")]
        chat.complete(question, schema=schema, max_tokens=300, no_loops=no_loops)
    body: dict[str, Any] = server.requests_for(CHAT)[-1].json()
    assert body["max_tokens"] == 300
    return body


def by_format(answers: dict[str, Answer]) -> Callable[[Request], Answer]:
    """The answer for each way of asking for JSON; ``words`` for none."""

    def answer(request: Request) -> Answer:
        return answers[request.json().get("response_format", {"type": "words"})["type"]]

    return answer


def test_one_tiny_completion_finds_a_capable_server_out_and_no_other_is_sent_in_this_process(
    server: ScriptedServer,
) -> None:
    server.always(CHAT, chat_completion(KEPT))
    assert abilities(server) == Abilities(answers_as="any")
    assert abilities(server) == Abilities(answers_as="any")
    (request,) = server.requests_for(CHAT)
    assert request.json()["max_tokens"] == PROBE_TOKENS < 64
    assert WORD not in json.dumps(request.json()["messages"])
    forget_abilities()
    abilities(server)
    assert server.calls(CHAT) == 2


def test_llama_cpp_tells_its_context_and_is_asked_to_keep_the_prompt(server: ScriptedServer) -> None:
    server.always("/props", Answer(PROPS))
    server.always(CHAT, chat_completion(KEPT))
    assert abilities(server) == Abilities(context_tokens=4096, llama_cpp=True, answers_as="any")
    assert asked(server)["cache_prompt"] is True


def test_another_server_is_asked_for_nothing_that_only_llama_cpp_knows(server: ScriptedServer) -> None:
    server.always(CHAT, chat_completion(KEPT))
    body = asked(server)
    assert "cache_prompt" not in body and "chat_template_kwargs" not in body
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_llama_cpp_is_told_how_long_strings_may_be_and_not_to_repeat_itself(server: ScriptedServer) -> None:
    server.always("/props", Answer(PROPS))
    server.always(CHAT, chat_completion(KEPT))
    body = asked(server, schema=LENGTHS)
    assert body["response_format"]["json_schema"]["schema"] == LENGTHS
    assert "repeat_penalty" not in body  # quotes repeat what was said, word for word
    assert asked(server, no_loops=True)["repeat_penalty"] > 1


def test_a_server_that_may_refuse_lengths_of_strings_is_sent_none(server: ScriptedServer) -> None:
    server.always(CHAT, chat_completion(KEPT))
    body = asked(server, schema=LENGTHS, no_loops=True)
    items = {"type": "string"}
    assert body["response_format"]["json_schema"]["schema"] == {"type": "array", "items": items, "maxItems": 2}
    assert "repeat_penalty" not in body


def test_an_answer_that_is_put_beside_the_content_still_shows_that_the_schema_holds(server: ScriptedServer) -> None:
    server.always(CHAT, chat_completion("", reasoning_content=KEPT))
    assert abilities(server) == Abilities(answers_as="any")


@pytest.mark.parametrize(
    ("answers", "shape", "response_format"),
    [
        (
            {"json_schema": error("no response_format json_schema", 400), "json_object": chat_completion("{}")},
            "json_object",
            {"type": "json_object"},
        ),
        (
            {"json_schema": error("no", 422), "json_object": error("no", 422), "words": chat_completion("Hello")},
            "words",
            None,
        ),
        (
            {"json_schema": chat_completion("Hello!"), "json_object": chat_completion('{"word": "hello"}')},
            "json_object",
            {"type": "json_object"},
        ),
        ({"json_schema": chat_completion("Hello!"), "json_object": chat_completion("Hello!")}, "words", None),
        ({"json_schema": chat_completion('{"word": "hi"}'), "json_object": error("no", 400)}, "words", None),
    ],
    ids=["schema refused", "both refused", "schema ignored", "both ignored", "schema ignored, object refused"],
)
def test_a_server_that_enforces_no_schema_is_asked_otherwise(
    server: ScriptedServer, answers: dict[str, Answer], shape: str, response_format: dict[str, str] | None
) -> None:
    server.always(CHAT, by_format(answers))
    assert abilities(server).shape == shape
    assert asked(server).get("response_format") == response_format


THINKING = chat_completion("", finish_reason="length", reasoning_content="Okay, the user wants")


def honours_the_switch(request: Request) -> Answer:
    return chat_completion(KEPT) if "chat_template_kwargs" in request.json() else THINKING


def refuses_the_switch(request: Request) -> Answer:
    if "chat_template_kwargs" in request.json():
        return error("Unrecognized request argument: chat_template_kwargs", 400)
    return chat_completion("<think>Okay, the user wants", finish_reason="length")


@pytest.mark.parametrize(
    ("script", "thinking"),
    [(honours_the_switch, "off"), (refuses_the_switch, "on"), (THINKING, "on")],
    ids=["honoured", "refused", "ignored"],
)
def test_the_switch_for_thinking_is_sent_only_where_it_works(
    server: ScriptedServer, script: Any, thinking: str
) -> None:
    server.always(CHAT, script)
    found = abilities(server)
    assert (found.thinking, found.shape) == (thinking, "schema")
    assert asked(server).get("chat_template_kwargs") == ({"enable_thinking": False} if thinking == "off" else None)


def test_a_chat_template_that_has_the_switch_is_given_it_at_once(server: ScriptedServer) -> None:
    server.always("/props", Answer({**PROPS, "chat_template": "{% if enable_thinking %}…"}))
    server.always(CHAT, honours_the_switch)
    assert abilities(server).thinking == "off"
    assert server.calls(CHAT) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error("no such key", 401), KeyRefused),
        (error("File Not Found", 404), ModelRefused),
        (error("bad request", 400), ModelRefused),
        (error("quota", 429, headers={"Retry-After": "3600"}), ModelOutage),
        (Answer({"choices": []}), ModelAnswerError),
    ],
)
def test_a_server_that_answers_nothing_is_no_server_without_abilities(
    server: ScriptedServer, answer: Answer, kind: type[Exception]
) -> None:
    server.always(CHAT, answer)
    with pytest.raises(kind):
        abilities(server)
    server.always(CHAT, chat_completion(KEPT))
    assert abilities(server).shape == "schema"
