"""The chat client against servers of every temper; the real llama.cpp is in test_llama_cpp."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.errors import InputTooLong, ModelAnswerError, ModelFileError, ModelRefused
from memory_pipeline.models import open_chat
from memory_pipeline.models.contract import ChatMessage, ChatModel
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.support.scripted_server import Answer, ScriptedServer, chat_completion, error, models

CHAT = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"memories": {"type": "array"}}, "required": ["memories"]}
PROPS = Answer({"default_generation_settings": {"n_ctx": 4096}})


def chat_with(server: ScriptedServer, **settings: Any) -> ChatModel:
    return open_chat(load_settings(env_file=None, llama_url=server.url, **settings))


@pytest.fixture
def chat(server: ScriptedServer) -> Iterator[ChatModel]:
    """A client of a server that offers one model and is not llama.cpp."""
    server.always("/v1/models", models("small"))
    client = chat_with(server)
    yield client
    client.close()


def ask(chat: ChatModel, text: str = "What is worth keeping?") -> Any:
    return chat.complete([ChatMessage("system", "Be brief."), ChatMessage("user", text)], schema=SCHEMA, max_tokens=300)


def test_the_request_asks_for_the_schema_at_temperature_zero(server: ScriptedServer, chat: ChatModel) -> None:
    server.always(CHAT, chat_completion("{}"))
    ask(chat)
    (request,) = server.requests_for(CHAT)
    assert request.json() == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is worth keeping?"},
        ],
        "temperature": 0,
        "max_tokens": 300,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_the_answer_comes_with_the_server_s_own_counts(server: ScriptedServer, chat: ChatModel) -> None:
    server.always(CHAT, chat_completion('{"memories": []}', finish_reason="length"))
    answer = ask(chat)
    assert (answer.content, answer.finish_reason, answer.model) == ('{"memories": []}', "length", "small")
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
    assert 0 < answer.seconds < 5


def test_a_server_that_counts_nothing_counts_as_zero(server: ScriptedServer, chat: ChatModel) -> None:
    server.always(CHAT, Answer({"choices": [{"message": {"content": "{}"}}], "usage": None}))
    answer = ask(chat)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish_reason) == (0, 0, "")


def test_what_a_thinking_model_puts_beside_the_content_is_taken(server: ScriptedServer, chat: ChatModel) -> None:
    server.always(CHAT, chat_completion("", reasoning_content='{"memories": []}'))
    assert ask(chat).content == '{"memories": []}'
    server.always(CHAT, chat_completion("{}", reasoning_content="First I consider"))
    assert ask(chat).content == "{}"


@pytest.mark.parametrize(
    "body",
    [{}, [], {"choices": []}, {"choices": [{}]}, {"choices": [{"message": None}]}, {"choices": [{"message": []}]}],
)
def test_a_reply_that_is_no_chat_completion_is_a_wrong_answer(
    server: ScriptedServer, chat: ChatModel, body: Any
) -> None:
    server.always(CHAT, Answer(body))
    with pytest.raises(ModelAnswerError, match="no chat completion"):
        ask(chat)


def test_a_prompt_over_the_context_is_too_long(server: ScriptedServer, chat: ChatModel) -> None:
    server.always(CHAT, error("request (9031 tokens) exceeds the available context size (8192 tokens)", 400))
    with pytest.raises(InputTooLong, match="no input this long"):
        ask(chat)


def test_the_context_is_the_setting_or_what_llama_cpp_reports_if_that_is_less_else_8192(server: ScriptedServer) -> None:
    server.always("/v1/models", models("small"))
    with_setting = chat_with(server, llama_context=2048)
    assert with_setting.context_tokens == 2048
    with_setting.close()
    unknown = chat_with(server)
    assert unknown.context_tokens == 8192
    unknown.close()
    server.always("/props", PROPS)
    reported = chat_with(server)
    assert reported.context_tokens == 4096
    reported.close()
    for wanted, given in ((2048, 2048), (32_768, 4096)):
        both = chat_with(server, llama_context=wanted)
        assert both.context_tokens == given
        both.close()


def test_a_web_page_at_llama_cpp_s_paths_means_another_server(server: ScriptedServer, chat: ChatModel) -> None:
    page = Answer(b"<html>Open WebUI</html>")
    server.always("/props", page)
    server.always("/tokenize", page)
    assert chat.context_tokens == 8192
    assert chat.count_tokens("abc") == 1


def test_tokens_are_counted_by_the_server(server: ScriptedServer, chat: ChatModel) -> None:
    server.always("/tokenize", lambda request: Answer({"tokens": list(range(len(request.json()["content"].split())))}))
    assert chat.count_tokens("one two three") == 3


def test_without_a_tokenizer_three_bytes_are_a_token_and_the_server_is_asked_once(
    server: ScriptedServer, chat: ChatModel
) -> None:
    assert [chat.count_tokens(text) for text in ("", "a", "abcd", "a" * 300, "漢字")] == [0, 1, 2, 100, 2]
    assert server.calls("/tokenize") == 1


def test_requests_wait_for_each_other(server: ScriptedServer, chat: ChatModel) -> None:
    at_work, most = 0, 0
    lock = threading.Lock()

    def slow(_: object) -> Answer:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        server.wait(0.03)
        with lock:
            at_work -= 1
        return chat_completion("{}")

    server.always(CHAT, slow)
    threads = [threading.Thread(target=ask, args=(chat,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.calls(CHAT) == 4
    assert most == 1


def test_without_a_name_the_first_model_offered_is_used(server: ScriptedServer) -> None:
    server.always("/v1/models", models("large", "small"))
    chat = chat_with(server)
    assert chat.model == "large"
    chat.close()
    assert server.calls("/v1/models") == 1


@pytest.mark.parametrize(
    ("offered", "wanted", "asked_for", "shown"),
    [
        ("small", "small", "small", "small"),
        ("Small", "small", "Small", "Small"),
        ("/models/Qwen3-4B.Q4.gguf", "Qwen3-4B.Q4.gguf", "/models/Qwen3-4B.Q4.gguf", "Qwen3-4B.Q4"),
        ("/models/Qwen3-4B.Q4.gguf", "qwen3-4b.q4", "/models/Qwen3-4B.Q4.gguf", "Qwen3-4B.Q4"),
        (r"C:\models\Qwen3-4B.Q4.gguf", "Qwen3-4B.Q4", r"C:\models\Qwen3-4B.Q4.gguf", "Qwen3-4B.Q4"),
        ("qwen3:latest", "qwen3", "qwen3:latest", "qwen3:latest"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B", "Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
    ],
)
def test_the_wanted_model_is_found_however_the_server_spells_it(
    server: ScriptedServer, offered: str, wanted: str, asked_for: str, shown: str
) -> None:
    server.always("/v1/models", models("other", offered))
    server.always(CHAT, chat_completion("{}"))
    chat = chat_with(server, llama_model=wanted)
    assert ask(chat).model == chat.model == shown
    chat.close()
    assert server.requests_for(CHAT)[0].json()["model"] == asked_for


def test_a_model_that_is_not_offered_is_refused_with_those_that_are(server: ScriptedServer) -> None:
    server.always("/v1/models", models(*(f"model-{n}" for n in range(10))))
    chat = chat_with(server, llama_model="gpt-9")
    with pytest.raises(ModelRefused) as caught:
        ask(chat)
    chat.close()
    assert str(caught.value) == (
        f"{server.url} has no model gpt-9; it offers model-0, model-1, model-2, model-3, model-4, model-5, model-6, "
        "model-7 and 2 more; set LLAMA_MODEL to one of these."
    )
    assert server.calls(CHAT) == 0


def test_a_server_that_lists_no_models_is_believed(server: ScriptedServer) -> None:
    chat = chat_with(server, llama_model="whatever")
    assert chat.model == "whatever"
    chat.close()
    unnamed = chat_with(server)
    with pytest.raises(ModelRefused, match="does not say which models it has; set LLAMA_MODEL"):
        _ = unnamed.model
    unnamed.close()


def test_a_refused_key_is_not_taken_for_a_server_without_a_list(server: ScriptedServer) -> None:
    server.always("/v1/models", error("Invalid API Key", 401))
    chat = chat_with(server, llama_model="whatever")
    with pytest.raises(ModelRefused, match="check LLAMA_API_KEY"):
        _ = chat.model
    chat.close()


def test_a_chat_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"MEMORY_CHAT_GGUF names .*gone\.gguf, where no file is"):
        open_chat(load_settings(env_file=None, chat_gguf=tmp_path / "gone.gguf"))


def test_without_server_and_file_the_sentence_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"is not installed in .*; run `memory-pipeline models pull --chat`"):
        open_chat(load_settings(env_file=None, models_dir=tmp_path))
