"""The LLM engine on the real chat client: a scripted server for faults, llama.cpp with a small model for the rest."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.distillation import DistillationEngine, Outcome, open_engine
from memory_pipeline.distillation.prompt import INSTRUCTIONS, prompt
from memory_pipeline.errors import ModelOutage
from memory_pipeline.models import open_chat
from memory_pipeline.models.completions import PATH, request
from memory_pipeline.models.connection import Connection
from memory_pipeline.models.contract import Abilities, ChatAnswer, ChatMessage, ChatModel
from memory_pipeline.models.embedded import EmbeddedServer
from memory_pipeline.models.installed import SMOLLM2
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.distillation.samples import dialogue, turn_of
from memory_pipeline_tests.support.scripted_server import (
    CHAT,
    Answer,
    Request,
    ScriptedServer,
    chat_completion,
    error,
    models,
)

MESSAGES = dialogue(
    ("user", "never use npm or yarn in here, only pnpm"),
    ("assistant", "Understood: pnpm only. An only-allow guard makes a stray npm install fail."),
)
MEMORY = {
    "summary": "Only pnpm may be used in here, never npm or yarn.",
    "tags": ["pnpm", "npm", "package manager"],
    "evidence": ["never use npm or yarn in here, only pnpm"],
    "language": "en",
}
ASKED_FOR = json.dumps({"memories": [MEMORY], "entities": []})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.always("/v1/models", models("capable"))
        yield running


@pytest.fixture
def engine(server: ScriptedServer) -> Iterator[DistillationEngine]:
    settings = load_settings(env_file=None, llama_url=server.url, llama_timeout=5)
    opened = open_engine(settings, partial(open_chat, settings))
    yield opened
    opened.close()


def distil(engine: DistillationEngine) -> Outcome:
    return engine.session().distill(turn_of(MESSAGES), MESSAGES)


@pytest.mark.parametrize(
    "reply",
    [
        chat_completion(ASKED_FOR),
        chat_completion(json.dumps([MEMORY])),
        chat_completion(f"```json\n{ASKED_FOR}\n```"),
        chat_completion(f"{ASKED_FOR}\nI left out the greeting."),
        chat_completion(f"<think>a rule</think>{ASKED_FOR}"),
        chat_completion(f"<think>a rule, I think\n{ASKED_FOR}"),
        chat_completion("", reasoning_content=ASKED_FOR),
        chat_completion(None, reasoning=ASKED_FOR),
        chat_completion(ASKED_FOR, reasoning_content="The user stated a rule {so} I keep it."),
        chat_completion(json.dumps({"note": 1, "memories": [{**MEMORY, "confidence": 1}]})),
        chat_completion(ASKED_FOR.replace("}]", "},]")),
    ],
    ids=[
        "object",
        "list",
        "fenced",
        "prose behind",
        "after thoughts",
        "thoughts without an end",
        "beside the content",
        "beside the content, by another name",
        "thoughts beside the content",
        "unknown keys",
        "damaged",
    ],
)
def test_memories_come_back(server: ScriptedServer, engine: DistillationEngine, reply: Answer) -> None:
    server.then(CHAT, reply)
    outcome = distil(engine)
    assert (outcome.state, outcome.error, engine.model) == ("stored", None, "capable")
    assert [(d.summary, d.tags, d.trust) for d in outcome.drafts] == [
        (MEMORY["summary"], ("pnpm", "npm", "package-manager"), "user")
    ]
    assert (outcome.prompt_tokens, outcome.completion_tokens) == (11, 7)
    assert server.calls(CHAT) == 1


def test_a_cut_off_answer_is_asked_for_again_with_more_room_in_the_same_call(
    server: ScriptedServer, engine: DistillationEngine
) -> None:
    """Thoughts that eat up the answer's tokens look the same: nothing but a finish reason."""
    server.then(
        CHAT, chat_completion("", finish_reason="length", reasoning_content="Let me"), chat_completion(ASKED_FOR)
    )
    assert distil(engine).state == "stored"
    first, second = (request.json()["max_tokens"] for request in server.requests_for(CHAT))
    assert second > first


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (chat_completion('{"memories": [], "entities": []}'), "none"),
        (chat_completion("[]"), "none"),
        (chat_completion('{"memories": [{"summary": "Only'), "invalid"),
        (chat_completion(None), "invalid"),
        (chat_completion("I could not find anything."), "invalid"),
        (
            chat_completion(json.dumps({"memories": [{**MEMORY, "summary": "I could not find any memories."}]})),
            "invalid",
        ),
        (chat_completion('{"$defs": {"Memory": {}}, "properties": {"memories": {"type": "array"}}}'), "invalid"),
        (chat_completion(json.dumps({"memories": [{**MEMORY, "tags": "pnpm"}]})), "invalid"),
        (chat_completion(json.dumps({"memories": [{**MEMORY, "summary": '"summary": "Only pnpm'}]})), "invalid"),
        (chat_completion('{"memories": [{"summary": "Only', finish_reason="length"), "truncated"),
        (chat_completion(None, refusal="I can't help with that."), "refused"),
        (chat_completion("", finish_reason="content_filter"), "refused"),
        (Answer({"choices": []}), "invalid"),
        (error("the prompt breaks our rules: never use npm", 400), "refused"),
        (error("wrong key", 401), "refused"),
        (error("maximum context length is 10 tokens", 400), "refused"),
    ],
    ids=[
        "none",
        "empty list",
        "broken off",
        "empty",
        "prose",
        "a refusal inside valid JSON",
        "the schema",
        "wrong type",
        "a scrap inside valid JSON",
        "cut off",
        "refusal field",
        "content filter",
        "no choice",
        "refused",
        "key",
        "too long",
    ],
)
def test_each_fault_has_its_state(
    server: ScriptedServer, engine: DistillationEngine, answer: Answer, state: str
) -> None:
    server.always(CHAT, answer)
    outcome = distil(engine)
    assert (outcome.state, outcome.drafts, outcome.mentions) == (state, (), ())
    assert (outcome.error is None) == (state == "none")
    assert "npm" not in (outcome.error or "")


@pytest.mark.parametrize(
    "answer",
    [
        error("slow down", 429, headers={"Retry-After": "3600"}),
        Answer({}, delay=30),
        Answer(chat_completion(ASKED_FOR).body, drip=0.05),
        Answer(chat_completion(ASKED_FOR).body, drip=0.05, drip_headers=True),
    ],
    ids=["429", "time-out", "bytes that drip", "headers that drip"],
)
def test_a_server_without_a_timely_answer_is_an_outage(server: ScriptedServer, answer: Answer) -> None:
    settings = load_settings(env_file=None, llama_url=server.url, llama_timeout=1)
    engine = open_engine(settings, partial(open_chat, settings))
    server.always(CHAT, answer)
    started = time.monotonic()
    with pytest.raises(ModelOutage):
        distil(engine)
    assert time.monotonic() - started < 3
    assert server.calls(CHAT) == 1
    engine.close()


def test_a_model_that_echoes_what_it_was_given_stores_nothing(
    server: ScriptedServer, engine: DistillationEngine
) -> None:
    def prompt_of(request: Request) -> str:
        return "\n".join(message["content"] for message in request.json()["messages"])

    def as_memory(request: Request) -> Answer:
        return chat_completion(
            json.dumps({"memories": [{**MEMORY, "summary": request.json()["messages"][1]["content"]}]})
        )

    server.then(CHAT, lambda request: chat_completion(prompt_of(request)), as_memory)
    assert distil(engine).state == "invalid"
    echoed = distil(engine)
    assert echoed.drafts == () and echoed.state in ("invalid", "none")


def test_a_name_invented_into_a_true_sentence_does_not_get_through(
    server: ScriptedServer, engine: DistillationEngine
) -> None:
    summary = "John Doe, a Google engineer, wants only pnpm to be used in here."
    entity = {"name": "John Doe", "type": "person", "description": "A Google engineer."}
    server.then(CHAT, chat_completion(json.dumps({"memories": [{**MEMORY, "summary": summary}], "entities": [entity]})))
    outcome = distil(engine)
    assert outcome.mentions == ()
    assert not any("Doe" in draft.summary or "Google" in draft.summary for draft in outcome.drafts)
    assert outcome.drafts or outcome.dropped


def test_the_model_is_known_by_the_name_it_is_asked_for_by_whatever_it_answers_as(
    server: ScriptedServer, engine: DistillationEngine
) -> None:
    server.then(CHAT, Answer({**chat_completion(ASKED_FOR).body, "model": "capable-2026-05-01"}))
    assert distil(engine).state == "stored"
    assert engine.model == "capable"


def test_a_server_that_ignores_schemas_is_read_as_strictly(server: ScriptedServer, engine: DistillationEngine) -> None:
    server.probe = lambda request: chat_completion("Sure! Hello.")
    server.always(CHAT, chat_completion(f"Here you are: {ASKED_FOR}"))
    assert distil(engine).state == "stored"
    server.always(CHAT, chat_completion("Sure! I remember pnpm."))
    assert distil(engine).state == "invalid"
    asked = server.requests_for(CHAT)[0].json()
    assert "response_format" not in asked
    assert '{"memories": [{"summary"' in asked["messages"][0]["content"]


def test_a_refused_key_is_no_matter_of_the_turn(server: ScriptedServer, engine: DistillationEngine) -> None:
    server.probe = error("no such key", 401)
    outcome = distil(engine)
    assert (outcome.state, outcome.server_at_fault) == ("refused", True)
    assert outcome.error is not None and "LLAMA_API_KEY" in outcome.error


def test_as_many_turns_at_a_time_as_the_server_has_slots(server: ScriptedServer) -> None:
    settings = load_settings(env_file=None, llama_url=server.url, llama_timeout=5, llama_parallel=3)
    engine = open_engine(settings, partial(open_chat, settings))
    assert engine.parallel == 3
    server.always(CHAT, Answer(chat_completion(ASKED_FOR).body, delay=0.5))
    session = engine.session()
    started = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(session.distill, turn_of(MESSAGES), MESSAGES) for _ in range(3)]
    assert [future.result().state for future in done] == ["stored"] * 3
    assert time.monotonic() - started < 1.4
    engine.close()


def test_a_turn_too_long_for_the_server_is_sent_again_in_parts(
    server: ScriptedServer, engine: DistillationEngine
) -> None:
    server.then(CHAT, error("the request exceeds the available context size", 400))
    server.always(CHAT, chat_completion("[]"))
    outcome = distil(engine)
    first, *parts = (len(request.body) for request in server.requests_for(CHAT))
    assert (outcome.state, outcome.cut_chars, outcome.parts) == ("none", 0, len(parts))
    assert max(parts) < first


class BriefChat:
    """The real chat model, with short answers: on busy cores it writes a few words a second."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.model = chat.model
        self.abilities = chat.abilities
        self.context_tokens = chat.context_tokens
        self.count_tokens = chat.count_tokens
        self.close = chat.close
        self.answers: list[ChatAnswer] = []

    def complete(
        self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any], max_tokens: int, no_loops: bool = False
    ) -> ChatAnswer:
        self.answers.append(self._chat.complete(messages, schema=schema, max_tokens=40, no_loops=no_loops))
        return self.answers[-1]


def test_a_small_model_in_llama_cpp_keeps_to_the_schema(models_dir: Path) -> None:
    """What it says is not judged: a model of this size invents. It must never be more than an outcome."""
    messages = dialogue(("user", "hi"), ("assistant", "Hello."))
    settings = load_settings(env_file=None, chat_gguf=models_dir / SMOLLM2.file, llama_context=1_024)
    chat = BriefChat(open_chat(settings))
    engine = open_engine(settings, lambda: chat)
    try:
        outcome = engine.session().distill(turn_of(messages), messages)
    finally:
        engine.close()
    assert chat.abilities.shape == "schema"
    assert all(answer.content.replace(" ", "").startswith('{"memories":[') for answer in chat.answers)
    assert outcome.state in ("none", "stored", "truncated", "invalid")
    assert bool(outcome.drafts) == (outcome.state == "stored")
    assert outcome.prompt_tokens > 0


def test_llama_cpp_reads_the_instructions_once_for_all_turns(models_dir: Path) -> None:
    """They stand first and are the same for every turn, so the server's cache holds them."""
    server = EmbeddedServer(models_dir / SMOLLM2.file, "chat", context=1_024, slots=1, remedy="")
    connection = Connection(server.endpoint, seconds=120, on_close=server.close)
    cached = []
    for said in (("user", "hi"), ("assistant", "Hello.")), (("user", "only pnpm here"), ("assistant", "Understood.")):
        turn = turn_of(dialogue(*said))
        messages = prompt(turn, turn.text)
        body = request(server.name, messages, schema={}, max_tokens=1, abilities=Abilities("words", llama_cpp=True))
        cached.append(connection.post(PATH, body)["usage"]["prompt_tokens_details"]["cached_tokens"])
    fixed = connection.post("/tokenize", {"content": INSTRUCTIONS})["tokens"]
    connection.close()
    assert cached[1] >= len(fixed)
