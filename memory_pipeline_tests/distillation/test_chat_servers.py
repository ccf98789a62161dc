"""The LLM engine on the real chat client: a scripted server for faults, llama.cpp with a small model for the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from memory_pipeline.distillation import DistillationEngine, Outcome, open_engine
from memory_pipeline.models import open_chat
from memory_pipeline.models.installed import SMOLLM2
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.distillation.samples import dialogue, turn_of
from memory_pipeline_tests.support.scripted_server import Answer, ScriptedServer, chat_completion, error, models

CHAT = "/v1/chat/completions"
MESSAGES = dialogue(
    ("user", "never use npm or yarn in here, only pnpm"),
    ("assistant", "Understood: pnpm only. An only-allow guard makes a stray npm install fail."),
)
MEMORY = {"summary": "Only pnpm may be used here.", "tags": ["pnpm", "npm", "package manager"]}


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
    "content",
    [
        json.dumps({"memories": [MEMORY]}),
        json.dumps([MEMORY]),
        f"```json\n{json.dumps({'memories': [MEMORY]})}\n```",
        f"<think>a rule</think>{json.dumps({'memories': [MEMORY]})}",
    ],
    ids=["object", "list", "fenced", "after thoughts"],
)
def test_memories_come_back(server: ScriptedServer, engine: DistillationEngine, content: str) -> None:
    server.then(CHAT, chat_completion(content))
    outcome = distil(engine)
    assert (outcome.state, engine.model) == ("stored", "capable")
    assert [(d.summary, d.tags) for d in outcome.drafts] == [
        ("Only pnpm may be used here.", ("pnpm", "npm", "package-manager"))
    ]
    assert (outcome.prompt_tokens, outcome.completion_tokens) == (11, 7)


def test_an_answer_beside_the_content_is_read(server: ScriptedServer, engine: DistillationEngine) -> None:
    server.then(CHAT, chat_completion("", reasoning_content=json.dumps({"memories": [MEMORY]})))
    assert distil(engine).state == "stored"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (chat_completion('{"memories": []}'), "none"),
        (chat_completion("[]"), "none"),
        (chat_completion('{"memories": [{"summary": "Only'), "invalid"),
        (chat_completion(None), "invalid"),
        (chat_completion("I could not find anything."), "invalid"),
        (chat_completion('{"memories": [{"summary": "Only', finish_reason="length"), "truncated"),
        (Answer({"choices": []}), "invalid"),
        (error("the prompt breaks our rules: never use npm", 400), "refused"),
        (error("wrong key", 401), "refused"),
        (error("maximum context length is 10 tokens", 400), "refused"),
    ],
    ids=["none", "empty list", "broken", "empty", "prose", "cut off", "no choice", "refused", "key", "too long"],
)
def test_each_fault_has_its_state(
    server: ScriptedServer, engine: DistillationEngine, answer: Answer, state: str
) -> None:
    server.always(CHAT, answer)
    outcome = distil(engine)
    assert (outcome.state, outcome.drafts) == (state, ())
    assert (outcome.error is None) == (state == "none")
    assert "npm" not in (outcome.error or "")


def test_a_turn_too_long_for_the_server_is_sent_again_shorter(
    server: ScriptedServer, engine: DistillationEngine
) -> None:
    server.then(CHAT, error("the request exceeds the available context size", 400), chat_completion("[]"))
    outcome = distil(engine)
    first, second = (len(request.body) for request in server.requests_for(CHAT))
    assert outcome.state == "none"
    assert outcome.cut_chars > 0
    assert second < first


def test_a_small_model_in_llama_cpp_answers_in_the_shape_asked_for(models_dir: Path) -> None:
    """What it says is not judged: a model of this size invents. It must never be more than an outcome."""
    messages = dialogue(("user", "hi"), ("assistant", "Hello."))  # it answers this one soon
    settings = load_settings(env_file=None, chat_gguf=models_dir / SMOLLM2.file, llama_context=1_024)
    engine = open_engine(settings, partial(open_chat, settings))
    try:
        outcome = engine.session().distill(turn_of(messages), messages)
    finally:
        engine.close()
    assert outcome.state in ("none", "stored", "truncated", "invalid")
    assert bool(outcome.drafts) == (outcome.state == "stored")
    assert all(draft.summary and draft.cites for draft in outcome.drafts)
    assert outcome.prompt_tokens > 0
