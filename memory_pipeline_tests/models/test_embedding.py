"""The embedder against servers of every temper; the real llama.cpp is in test_llama_cpp."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.errors import InputTooLong, ModelAnswerError, ModelFileError, ModelRefused, SettingsError
from memory_pipeline.models import open_embedder
from memory_pipeline.models.contract import Embedder
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.support.scripted_server import (
    Answer,
    Request,
    ScriptedServer,
    embeddings,
    error,
    models,
    word_embeddings,
)

PATH = "/v1/embeddings"
KEY = "-".join(["sk", "verysecret", "0123456789"])


def embedder_of(url: str, **settings: Any) -> Embedder:
    return open_embedder(load_settings(env_file=None, embeddings="llama", embeddings_url=url, **settings))


@pytest.fixture
def embedder(server: ScriptedServer) -> Iterator[Embedder]:
    """A client of a server that is not llama.cpp."""
    server.always("/v1/models", models("embed-1"))
    server.always(PATH, word_embeddings())
    client = embedder_of(server.url)
    yield client
    client.close()


def inputs(server: ScriptedServer) -> list[list[str]]:
    return [request.json()["input"] for request in server.requests_for(PATH)]


def test_vectors_are_made_to_have_unit_length(server: ScriptedServer, embedder: Embedder) -> None:
    server.always(PATH, embeddings([[3.0, 4.0], [0.0, -1e-30]]))
    first, second = embedder.embed(["a", "b"])
    assert first == pytest.approx([0.6, 0.8])
    assert second == pytest.approx([0.0, -1.0])


def test_the_order_is_that_of_the_index_and_not_of_the_reply(server: ScriptedServer, embedder: Embedder) -> None:
    entries = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    server.always(PATH, Answer({"data": entries}))
    assert embedder.embed(["a", "b"]) == [[1.0, 0.0], [0.0, 1.0]]


def test_many_texts_go_in_batches_of_64_and_come_back_in_order(server: ScriptedServer, embedder: Embedder) -> None:
    texts = [f"text {n} {'x' * (n % 7)}" for n in range(150)]
    vectors = embedder.embed(texts)
    assert [len(batch) for batch in inputs(server)] == [64, 64, 22]
    assert vectors == [embedder.embed([text])[0] for text in texts]


def test_long_texts_go_in_smaller_batches(server: ScriptedServer, embedder: Embedder) -> None:
    embedder.embed(["y" * 30_000] * 7)
    assert [len(batch) for batch in inputs(server)] == [3, 3, 1]


def test_no_texts_need_no_server(server: ScriptedServer, embedder: Embedder) -> None:
    assert embedder.embed([]) == []
    assert server.requests == []


@pytest.mark.parametrize("blank", ["", "  \n\t"])
def test_a_blank_text_has_a_vector_though_servers_refuse_it(
    server: ScriptedServer, embedder: Embedder, blank: str
) -> None:
    def picky(request: Request) -> Answer:
        if not all(text.strip() for text in request.json()["input"]):
            return error("input cannot be an empty string", 400)
        return word_embeddings()(request)

    server.always(PATH, picky)
    vectors = embedder.embed(["something", blank])
    assert math.hypot(*vectors[1]) == pytest.approx(1.0)


def test_a_text_over_an_unknown_limit_is_halved_until_it_fits_and_the_others_stay_whole(
    server: ScriptedServer, embedder: Embedder
) -> None:
    def small(request: Request) -> Answer:
        if any(len(text) > 100 for text in request.json()["input"]):
            return error("This model's maximum context length is 25 tokens", 400)
        return word_embeddings()(request)

    server.always(PATH, small)
    texts = ["short one", "long " * 100, "short two"]
    vectors = embedder.embed(texts)
    assert vectors[0] == embedder.embed(["short one"])[0]
    assert vectors[2] == embedder.embed(["short two"])[0]
    taken = [batch for batch in inputs(server) if len(batch) == 1 and batch[0].startswith("long")][-1]
    assert 50 <= len(taken[0]) <= 100
    assert texts[1].startswith(taken[0])


def test_a_server_that_finds_every_text_too_long_is_given_up(server: ScriptedServer, embedder: Embedder) -> None:
    server.always(PATH, error("the input length exceeds the context length", 400))
    with pytest.raises(InputTooLong):
        embedder.embed(["some text"])
    assert server.calls(PATH) < 8


def test_where_llama_cpp_tells_its_context_a_text_is_cut_to_exactly_that(
    server: ScriptedServer, embedder: Embedder
) -> None:
    def tokenize(request: Request) -> Answer:
        return Answer({"tokens": [101, *range(len(request.json()["content"].split())), 102]})

    server.always("/props", Answer({"default_generation_settings": {"n_ctx": 10}}))
    server.always("/tokenize", tokenize)
    words = "one two three four five six seven eight nine ten eleven"
    embedder.embed([words, "short"])
    assert inputs(server) == [["one two three four five six seven eight ", "short"]]


@pytest.mark.parametrize(
    ("vector", "what"),
    [([0.0, 0.0], "zeros"), ([], "zeros"), ([1.0, math.nan], "NaN or infinity"), ([1.0, math.inf], "NaN or infinity")],
)
def test_a_vector_without_direction_is_a_wrong_answer(
    server: ScriptedServer, embedder: Embedder, vector: list[float], what: str
) -> None:
    server.always(PATH, embeddings([vector]))
    with pytest.raises(ModelAnswerError, match=what):
        embedder.embed(["a"])


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"data": None},
        {"data": []},
        {"data": [{"index": 0}]},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": "AACAPw=="}]},
        {"data": [{"index": 0, "embedding": [[1.0]]}]},
        {"data": [{"index": 0, "embedding": None}]},
    ],
)
def test_a_reply_without_the_vectors_is_a_wrong_answer(server: ScriptedServer, embedder: Embedder, body: Any) -> None:
    server.always(PATH, Answer(body))
    with pytest.raises(ModelAnswerError, match="no embedding"):
        embedder.embed(["a"])


def test_dimensions_are_learnt_from_one_request(server: ScriptedServer, embedder: Embedder) -> None:
    assert embedder.dimensions == 16
    assert embedder.dimensions == 16
    assert server.calls(PATH) == 1


def test_dimensions_that_change_are_a_wrong_answer(server: ScriptedServer, embedder: Embedder) -> None:
    embedder.embed(["a"])
    server.always(PATH, word_embeddings(8))
    with pytest.raises(ModelAnswerError, match="a vector of 8 numbers, not of the 16 that it sent before"):
        embedder.embed(["a"])


def test_fewer_dimensions_than_the_model_has_are_cut_and_of_unit_length_again(server: ScriptedServer) -> None:
    """Matryoshka representations: the first numbers are a vector of their own."""
    server.always("/v1/models", models("embed-1"))
    server.always(PATH, word_embeddings(64))
    whole = embedder_of(server.url)
    cut = embedder_of(server.url, embeddings_dims=32)
    [long], [short] = whole.embed(["roses in the garden"]), cut.embed(["roses in the garden"])
    assert (len(long), len(short), cut.dimensions) == (64, 32, 32)
    assert math.hypot(*short) == pytest.approx(1.0)
    length = math.hypot(*long[:32])
    assert short == pytest.approx([number / length for number in long[:32]])
    whole.close()
    cut.close()


def test_other_dimensions_than_those_set_are_refused(server: ScriptedServer) -> None:
    server.always("/v1/models", models("embed-1"))
    server.always(PATH, word_embeddings())
    embedder = embedder_of(server.url, embeddings_dims=384)
    with pytest.raises(ModelAnswerError, match="a vector of 16 numbers, not of the 384 that MEMORY_EMBEDDINGS_DIMS"):
        _ = embedder.dimensions
    embedder.close()


def test_the_model_asked_for_is_the_one_set_else_the_first_offered(server: ScriptedServer) -> None:
    server.always("/v1/models", models("/m/first.gguf", "/m/second.gguf"))
    server.always(PATH, word_embeddings())
    for wanted, shown, asked_for in ((None, "first", "/m/first.gguf"), ("second", "second", "/m/second.gguf")):
        embedder = embedder_of(server.url, embeddings_model=wanted)
        embedder.embed(["a"])
        assert embedder.model == shown
        assert server.requests_for(PATH)[-1].json()["model"] == asked_for
        embedder.close()


def test_the_chat_key_goes_to_the_same_origin_only(server: ScriptedServer) -> None:
    with ScriptedServer() as other:
        for one in (server, other):
            one.always("/v1/models", models("embed-1"))
            one.always(PATH, word_embeddings())
            embedder = embedder_of(one.url + "/v1", llama_url=server.url, llama_api_key=KEY)
            embedder.embed(["a"])
            embedder.close()
        assert server.requests_for(PATH)[0].headers["authorization"] == f"Bearer {KEY}"
        assert [request.headers.get("authorization") for request in other.requests] == [None] * len(other.requests)
        other.always(PATH, error("Invalid API Key", 401))
        refused = embedder_of(other.url, llama_url=server.url, llama_api_key=KEY)
        with pytest.raises(ModelRefused, match="LLAMA_API_KEY is sent to the server of LLAMA_URL only"):
            refused.embed(["a"])
        refused.close()


def test_the_chat_server_embeds_where_no_other_is_named(server: ScriptedServer) -> None:
    server.always("/v1/models", models("embed-1"))
    server.always(PATH, word_embeddings())
    embedder = open_embedder(load_settings(env_file=None, embeddings="llama", llama_url=server.url, llama_api_key=KEY))
    assert embedder.dimensions == 16
    embedder.close()
    assert server.requests_for(PATH)[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_any_server_both_variables_are_named() -> None:
    with pytest.raises(SettingsError, match="MEMORY_EMBEDDINGS_URL or LLAMA_URL"):
        open_embedder(load_settings(env_file=None, embeddings="llama"))


def test_without_a_model_file_the_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError) as caught:
        open_embedder(load_settings(env_file=None, models_dir=tmp_path))
    assert str(caught.value) == (
        f"The model all-MiniLM-L6-v2 is not installed in {tmp_path}; run `memory-pipeline models pull`."
    )
