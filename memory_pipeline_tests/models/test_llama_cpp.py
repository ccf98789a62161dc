"""The real llama.cpp with the real model files: what it is started with, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from memory_pipeline.errors import InputTooLong, ModelFileError
from memory_pipeline.models import open_chat, open_embedder
from memory_pipeline.models.contract import ChatMessage, ChatModel, Embedder
from memory_pipeline.models.embedded import EMBEDDING_TOKENS, EmbeddedServer
from memory_pipeline.models.installed import MINILM, SMOLLM2
from memory_pipeline.settings import load_settings


@pytest.fixture(scope="module")
def embedder(models_dir: Path) -> Iterator[Embedder]:
    with closing(open_embedder(load_settings(env_file=None, models_dir=models_dir))) as opened:
        yield opened


@pytest.fixture(scope="module")
def chat(models_dir: Path) -> Iterator[ChatModel]:
    with closing(open_chat(load_settings(env_file=None, models_dir=models_dir, llama_context=2048))) as opened:
        yield opened


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_have_unit_length_and_384_dimensions(embedder: Embedder) -> None:
    vectors = embedder.embed(["We use pnpm here.", "", "日本語 🎉", "x" * 5_000])
    assert embedder.dimensions == 384
    assert embedder.model == "all-MiniLM-L6-v2"
    for vector in vectors:
        assert len(vector) == 384
        assert cosine(vector, vector) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "first_components"),
    [
        (
            "We use pnpm, not npm, in this repository.",
            [-0.0276, -0.0641, -0.1003, -0.0002, 0.0848, -0.051, -0.0585, 0.0192],
        ),
        (
            "Die Tests laufen nur in der UTC-Zeitzone: naïve 日本語 🎉",
            [-0.0378, 0.0809, 0.0679, -0.0193, 0.0206, -0.0052, -0.0317, -0.0054],
        ),
    ],
)
def test_vectors_are_those_of_the_model_s_own_weights(
    embedder: Embedder, text: str, first_components: list[float]
) -> None:
    """Against a forward pass written out in numpy over the safetensors file, tokens by its own tokenizer.json.

    Its matrices are kept in 8 bits, which moves a component by up to some thousandths; F16 moved it by 2e-4 at most.
    """
    assert embedder.embed([text])[0][:8] == pytest.approx(first_components, abs=6e-3)


def test_what_means_the_same_is_nearer_than_what_does_not(embedder: Embedder) -> None:
    fact, paraphrase, other = embedder.embed(
        ["The cache is cleared every night.", "Each night the cache gets emptied.", "Ann prefers tabs over spaces."]
    )
    assert cosine(fact, paraphrase) > 0.7
    assert cosine(fact, other) < 0.3


def test_a_batch_gives_the_vectors_that_each_text_has_alone_in_order(embedder: Embedder) -> None:
    texts = [f"Service {n} listens on port {8000 + n}. " + "It restarts daily. " * (n % 9) for n in range(70)]
    together = embedder.embed(texts)
    for index in (0, 1, 8, 35, 63, 64, 69):
        assert cosine(together[index], embedder.embed([texts[index]])[0]) > 0.9995


def test_a_text_over_the_limit_is_cut_at_its_end(embedder: Embedder) -> None:
    filling = EMBEDDING_TOKENS - 2  # between [CLS] and [SEP]
    full, over, beyond = embedder.embed(
        ["cache " * filling, "cache " * filling + "of the quarterly report", "cache " * 20_000 + "of the report"]
    )
    assert cosine(full, over) > 0.9999
    assert cosine(full, beyond) > 0.9999
    just_under = embedder.embed(["cache " * (filling - 4) + "of the quarterly report"])[0]
    assert cosine(full, just_under) < 0.999


def test_without_the_key_the_server_refuses(models_dir: Path, embedder: Embedder) -> None:
    server = EmbeddedServer(models_dir / MINILM.file, "embeddings", context=EMBEDDING_TOKENS, remedy="")
    endpoint = server.endpoint()
    body = {"input": ["a"], "model": "any"}
    with httpx.Client(base_url=endpoint.url, trust_env=False) as client:
        assert client.post("/v1/embeddings", json=body).status_code == 401
        wrong = {"Authorization": "Bearer wrong"}
        assert client.post("/v1/embeddings", json=body, headers=wrong).status_code == 401
        right = {"Authorization": f"Bearer {endpoint.api_key}", "Origin": "http://evil.example"}
        answer = client.post("/v1/embeddings", json=body, headers=right)
    server.close()
    assert answer.status_code == 200
    assert answer.headers.get("access-control-allow-origin", "") == ""
    assert endpoint.url.startswith("http://127.0.0.1:")
    assert endpoint.api_key is not None
    assert len(endpoint.api_key) >= 40
    assert endpoint.api_key not in repr(endpoint)


def test_a_chat_model_can_embed_too(models_dir: Path) -> None:
    settings = load_settings(env_file=None, embeddings_gguf=models_dir / SMOLLM2.file)
    with closing(open_embedder(settings)) as other:
        assert other.model == "SmolLM2-135M-Instruct.Q4_1"
        assert other.dimensions == 576


def test_the_answer_keeps_to_the_schema(chat: ChatModel) -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["decision", "preference"]},
            "names": {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 2, "maxItems": 2},
        },
        "required": ["kind", "names"],
        "additionalProperties": False,
    }
    answer = chat.complete([ChatMessage("user", "Tell me a long story.")], schema=schema, max_tokens=200)
    content = json.loads(answer.content)
    assert content.keys() == {"kind", "names"}
    assert content["kind"] in ("decision", "preference")
    assert len(content["names"]) == 2
    assert answer.finish_reason == "stop"
    assert answer.prompt_tokens > 5
    assert 5 < answer.completion_tokens < 200
    assert answer.model == chat.model == "SmolLM2-135M-Instruct.Q4_1"


def test_the_same_question_gets_the_same_answer(chat: ChatModel) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 30}}, "required": ["name"]}
    question = [ChatMessage("user", "Name a fruit.")]
    first, second = (chat.complete(question, schema=schema, max_tokens=60).content for _ in range(2))
    assert first == second


def test_an_answer_that_runs_out_of_tokens_says_so(chat: ChatModel) -> None:
    schema = {"type": "object", "properties": {"story": {"type": "string", "minLength": 500}}, "required": ["story"]}
    answer = chat.complete([ChatMessage("user", "Tell me a story.")], schema=schema, max_tokens=16)
    assert (answer.finish_reason, answer.completion_tokens) == ("length", 16)


def test_tokens_are_the_model_s_own(chat: ChatModel) -> None:
    assert chat.count_tokens("") == 0
    assert chat.count_tokens("hello world") == 2
    assert chat.count_tokens("hello world " * 100) in range(200, 303)


def test_a_prompt_over_the_context_is_too_long(chat: ChatModel) -> None:
    assert chat.context_tokens == 2048
    with pytest.raises(InputTooLong, match="no input this long"):
        chat.complete([ChatMessage("user", "hello " * 3_000)], schema={"type": "object"}, max_tokens=10)


def test_the_context_is_bounded_by_what_the_model_was_trained_with(models_dir: Path) -> None:
    settings = load_settings(env_file=None, chat_gguf=models_dir / SMOLLM2.file, llama_context=50_000)
    with closing(open_chat(settings)) as opened:
        assert opened.context_tokens == 8192


@pytest.mark.parametrize(
    ("keep", "reason"),
    [(0, "failed to read"), (10, "failed to read"), (100_000, "failed to read"), (-400, "not within the file bounds")],
    ids=["empty", "10 bytes", "100 kB", "all but 400 bytes"],
)
def test_a_file_that_was_cut_short_is_named_with_the_remedy(
    models_dir: Path, tmp_path: Path, keep: int, reason: str
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes((models_dir / MINILM.file).read_bytes()[:keep])
    broken = open_embedder(load_settings(env_file=None, embeddings_gguf=cut))
    with pytest.raises(ModelFileError) as caught:
        broken.embed(["a"])
    assert str(cut) in str(caught.value)
    assert reason in str(caught.value)
    assert "run `memory-pipeline models pull`" in str(caught.value)


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    other = tmp_path / "notes.gguf"
    other.write_text("These are my notes.")
    broken = open_chat(load_settings(env_file=None, chat_gguf=other))
    with pytest.raises(ModelFileError, match="invalid magic characters"):
        broken.count_tokens("a")


def test_an_embedding_model_given_for_chat_does_not_take_us_along(models_dir: Path) -> None:
    """llama.cpp ends its process by a failed assertion then."""
    settings = load_settings(env_file=None, chat_gguf=models_dir / MINILM.file)
    broken = open_chat(settings)
    with pytest.raises(ModelFileError, match=r"can't use .*MiniLM.* for chat .*; name a chat model's GGUF file"):
        broken.complete([ChatMessage("user", "Hello")], schema={"type": "object"}, max_tokens=5)
