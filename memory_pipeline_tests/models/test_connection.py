"""What one request does when the server, or what stands in its place, misbehaves."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from memory_pipeline.errors import InputTooLong, ModelAnswerError, ModelOutage, ModelRefused, SettingsError
from memory_pipeline.models.connection import Connection, Retries, endpoint_at, same_origin
from memory_pipeline_tests.support.scripted_server import Answer, ScriptedServer, error

PATH = "/v1/chat/completions"
KEY = "-".join(["sk", "verysecret", "0123456789"])
FINE = Answer({"fine": True})
QUICK = Retries(tries=4, first_wait=0.001)


def post(url: str, *, key: str | None = None, seconds: float = 5.0, body: Any = None) -> Any:
    endpoint = endpoint_at(url, key, variable="LLAMA_URL")
    with closing(Connection(lambda: endpoint, seconds=seconds, retries=QUICK)) as connection:
        return connection.post(PATH, {} if body is None else body)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_in_v1_or_not(server: ScriptedServer, suffix: str) -> None:
    server.always(PATH, FINE)
    assert post(server.url + suffix) == {"fine": True}


def test_a_path_before_v1_is_kept(server: ScriptedServer) -> None:
    server.always("/api/v1/chat/completions", FINE)
    assert post(server.url + "/api/v1") == {"fine": True}


@pytest.mark.parametrize(
    "stumble",
    [
        error("busy", 503),
        error("oops", 500),
        error("slow down", 429, headers={"Retry-After": "0"}),
        Answer(hang_up=True),
        Answer(b'{"fine": tr', missing_bytes=5),
    ],
    ids=["503", "500", "429", "hang up", "broken off"],
)
def test_an_outage_that_ends_is_not_noticed(server: ScriptedServer, stumble: Answer) -> None:
    server.then(PATH, stumble, stumble, FINE)
    assert post(server.url) == {"fine": True}
    assert server.calls(PATH) == 3


def test_an_outage_that_lasts_is_reported_after_four_tries(server: ScriptedServer) -> None:
    server.always(PATH, error("Loading model", 503))
    with pytest.raises(ModelOutage) as caught:
        post(server.url)
    assert str(caught.value) == f"{server.url} is out of order (503) after 4 tries."
    assert server.calls(PATH) == 4


def test_the_waits_between_tries_stay_below_fifteen_seconds() -> None:
    default = Retries()
    waits = [default.first_wait * 3**n + default.first_wait for n in range(default.tries - 1)]
    assert 3 < sum(waits) < 15


def test_a_wait_that_the_server_asks_for_is_kept(server: ScriptedServer) -> None:
    server.then(PATH, error("slow down", 429, headers={"Retry-After": "0.4"}), FINE)
    started = time.monotonic()
    assert post(server.url) == {"fine": True}
    assert time.monotonic() - started >= 0.4


def test_a_wait_of_more_than_half_a_minute_is_left_to_the_next_run(server: ScriptedServer) -> None:
    server.always(PATH, error("quota used up", 429, headers={"Retry-After": "3600"}))
    with pytest.raises(ModelOutage, match=r"limiting requests \(429\); it asks to wait 3600 s\.$"):
        post(server.url)
    assert server.calls(PATH) == 1


def test_a_time_out_is_an_outage_and_not_sent_again(server: ScriptedServer) -> None:
    server.always(PATH, Answer({}, delay=30))
    with pytest.raises(ModelOutage, match=r"did not answer /v1/chat/completions within 0\.2 s; raise LLAMA_TIMEOUT"):
        post(server.url, seconds=0.2)
    assert server.calls(PATH) == 1


@pytest.mark.parametrize(
    "dripping",
    [
        Answer({"fine": True, "padding": "x" * 200}, drip=0.05),
        Answer({"fine": True}, drip=0.05, drip_headers=True),
        Answer({"fine": True}, drip=0.05, drip_headers=True, headers={"Connection": "close"}),
    ],
    ids=["body", "headers", "connection that ends"],
)
def test_a_reply_that_drips_is_cut_off_when_its_time_is_up_and_not_sent_again(
    server: ScriptedServer, dripping: Answer
) -> None:
    server.then(PATH, dripping)
    server.always(PATH, FINE)
    endpoint = endpoint_at(server.url, None, variable="LLAMA_URL")
    with closing(Connection(lambda: endpoint, seconds=0.5, retries=QUICK, at_once=1)) as connection:
        started = time.monotonic()
        with pytest.raises(
            ModelOutage, match=r"did not answer /v1/chat/completions within 0\.5 s; raise LLAMA_TIMEOUT"
        ):
            connection.post(PATH, {})
        assert 0.4 < time.monotonic() - started < 2
        assert server.calls(PATH) == 1
        assert connection.post(PATH, {}) == {"fine": True}


def test_waiting_for_another_request_does_not_count_as_waiting_for_the_reply(server: ScriptedServer) -> None:
    server.always(PATH, Answer({"fine": True}, delay=0.6))
    endpoint = endpoint_at(server.url, None, variable="LLAMA_URL")
    with closing(Connection(lambda: endpoint, seconds=1.0, at_once=1)) as connection, ThreadPoolExecutor(3) as pool:
        replies = [pool.submit(connection.post, PATH, {}) for _ in range(3)]
        assert [reply.result() for reply in replies] == [{"fine": True}] * 3


def test_where_nothing_listens_the_sentence_names_the_address_and_the_variable() -> None:
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ModelOutage) as caught:
            post(url)
    assert str(caught.value) == (
        f"No answer from {url} (Connection refused) after 4 tries; start the server or correct LLAMA_URL."
    )


def test_a_host_that_does_not_exist_is_an_outage() -> None:
    with pytest.raises(ModelOutage, match=r"No answer from http://no-such-host\.invalid:1 \("):
        post("http://no-such-host.invalid:1")


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_refusal_is_not_sent_again(server: ScriptedServer, status: int) -> None:
    server.always(PATH, error("temperature must be a number", status))
    with pytest.raises(ModelRefused, match="temperature must be a number"):
        post(server.url)
    assert server.calls(PATH) == 1


def test_a_feature_the_server_lacks_is_a_refusal_and_not_sent_again(server: ScriptedServer) -> None:
    server.always(PATH, error("This server does not support embeddings", 501))
    with pytest.raises(ModelRefused, match="501: This server does not support embeddings"):
        post(server.url)
    assert server.calls(PATH) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_its_variable_and_is_not_shown(server: ScriptedServer, status: int) -> None:
    server.always(PATH, error(f"Incorrect API key provided: {KEY}", status))
    with pytest.raises(ModelRefused) as caught:
        post(server.url, key=KEY)
    assert str(caught.value).endswith("check LLAMA_API_KEY.")
    assert KEY not in str(caught.value)


def test_the_key_is_sent_as_bearer_token_and_nothing_without_one(server: ScriptedServer) -> None:
    server.always(PATH, FINE)
    post(server.url, key=f" {KEY}\n")
    post(server.url)
    assert [request.headers.get("authorization") for request in server.requests] == [f"Bearer {KEY}", None]


def test_a_login_in_the_address_is_sent_and_never_shown(server: ScriptedServer) -> None:
    server.always(PATH, error("no", 400))
    word = "".join(["hun", "ter", "2"])
    with pytest.raises(ModelRefused) as caught:
        post(server.url.replace("//", f"//ann:{word}@"))
    assert word not in str(caught.value)
    assert server.requests[0].headers["authorization"].startswith("Basic ")


def test_a_key_that_can_be_none_is_named_without_being_shown() -> None:
    with pytest.raises(SettingsError) as caught:
        endpoint_at("http://localhost", "päss wörd", variable="LLAMA_URL")
    assert "LLAMA_API_KEY" in str(caught.value)
    assert "wörd" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://[::1", "http://localhost:port"])
def test_an_address_that_is_none_names_its_variable(url: str) -> None:
    with pytest.raises(SettingsError, match="MEMORY_EMBEDDINGS_URL"):
        endpoint_at(url, None, variable="MEMORY_EMBEDDINGS_URL")


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1:1"])
def test_redirects_are_not_followed(server: ScriptedServer, host: str) -> None:
    server.always(PATH, Answer(status=307, headers={"Location": f"http://user:pass@{host}/elsewhere?token=1"}))
    with pytest.raises(ModelRefused) as caught:
        post(server.url, key=KEY)
    assert f"sends requests on to http://{host}/elsewhere, which is not followed" in str(caught.value)
    assert server.calls(PATH) == 1


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"<!DOCTYPE html><html><body>Log in to the hotel's network</body></html>", "a web page"),
        (b"It works!", '"It works!"'),
        (b"", "nothing"),
    ],
)
def test_something_else_at_the_address_is_an_outage_that_says_what_it_is(
    server: ScriptedServer, body: bytes, what: str
) -> None:
    server.always(PATH, Answer(body))
    with pytest.raises(ModelOutage) as caught:
        post(server.url)
    assert f"{PATH} answered with {what} where JSON was due; set LLAMA_URL to" in str(caught.value)
    assert server.calls(PATH) == 1


def test_broken_json_is_a_wrong_answer(server: ScriptedServer) -> None:
    server.always(PATH, Answer(b'{"choices": [{"mess'))
    with pytest.raises(ModelAnswerError, match="JSON that is broken off or invalid"):
        post(server.url)


def test_bytes_that_do_not_unpack_are_an_outage(server: ScriptedServer) -> None:
    server.always(PATH, Answer(b"no gzip", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ModelOutage, match="can't be unpacked"):
        post(server.url)


@pytest.mark.parametrize(
    "answer",
    [
        error("request (9031 tokens) exceeds the available context size (8192 tokens)", 400),
        Answer({"error": {"code": 400, "message": "too much", "type": "exceed_context_size_error", "n_ctx": 512}}, 400),
        error("input (3002 tokens) is too large to process. increase the physical batch size", 500),
        error("This model's maximum context length is 4096 tokens. However, you requested 5000", 400),
        Answer({"error": {"message": "Too long", "code": "context_length_exceeded"}}, 400),
        error("the input length exceeds the context length", 400),
        Answer(b"Payload Too Large", 413),
    ],
    ids=["llama.cpp", "llama.cpp type", "llama.cpp batch", "vLLM", "OpenAI", "Ollama", "proxy"],
)
def test_each_server_s_way_to_say_too_long_is_understood_and_not_sent_again(
    server: ScriptedServer, answer: Answer
) -> None:
    server.always(PATH, answer)
    with pytest.raises(InputTooLong):
        post(server.url)
    assert server.calls(PATH) == 1


def test_an_error_inside_a_200_counts_as_what_it_is(server: ScriptedServer) -> None:
    server.then(PATH, Answer({"error": {"code": 502, "message": "back end gone"}}), FINE)
    assert post(server.url) == {"fine": True}
    server.then(PATH, Answer({"error": "Unexpected endpoint or method."}))
    with pytest.raises(ModelRefused, match="Unexpected endpoint or method"):
        post(server.url)


def test_what_the_server_says_is_quoted_in_short(server: ScriptedServer) -> None:
    server.always(PATH, error("bad " * 10_000, 400))
    with pytest.raises(ModelRefused) as caught:
        post(server.url)
    assert len(str(caught.value)) < 400


def test_text_that_no_json_can_hold_is_sent_with_question_marks(server: ScriptedServer) -> None:
    server.always(PATH, FINE)
    post(server.url, body={"input": "half a pair: \ud83d, a zero: \0, ü"})
    assert server.requests[0].json() == {"input": "half a pair: ?, a zero: \0, ü"}


def test_a_server_on_this_machine_is_asked_past_the_proxy(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.always(PATH, FINE)
    assert post(server.url) == {"fine": True}


def test_one_connection_serves_many_requests(server: ScriptedServer) -> None:
    server.always(PATH, FINE)
    endpoint = endpoint_at(server.url, None, variable="LLAMA_URL")
    with closing(Connection(lambda: endpoint, seconds=5)) as connection:
        for _ in range(5):
            connection.post(PATH, {})
    assert len({request.port for request in server.requests}) == 1


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("http://localhost:80/v1", True),
        ("http://LOCALHOST/other", True),
        ("https://localhost", False),
        ("http://localhost:8080", False),
        ("http://localhost.example", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(other: str, same: bool) -> None:
    assert same_origin("http://localhost", other) is same


FORK = """
import os, sys
from memory_pipeline.models.connection import Connection, endpoint_at
endpoint = endpoint_at(sys.argv[1], None, variable="LLAMA_URL")
connection = Connection(lambda: endpoint, seconds=5)
connection.post("/echo", {"of": "parent"})
child = os.fork()
if not child:
    connection.post("/echo", {"of": "child"})
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
connection.post("/echo", {"of": "parent"})
"""


def test_a_forked_child_does_not_share_its_parent_s_connection(server: ScriptedServer) -> None:
    server.always("/echo", FINE)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, server.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    ports = {of: {r.port for r in server.requests if r.json()["of"] == of} for of in ("parent", "child")}
    assert len(ports["parent"]) == len(ports["child"]) == 1
    assert ports["parent"] != ports["child"]
