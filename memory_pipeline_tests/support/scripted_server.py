"""An HTTP server that answers as it is told: for what a real model server can't be made to do on demand.

    with ScriptedServer() as server:
        server.always("/v1/models", models("small", "large"))
        server.then("/v1/chat/completions", Answer(status=503), chat_completion('{"memories": []}'))
        ...
        assert server.calls("/v1/chat/completions") == 2

A path's queue is used up first, then what it ``always`` answers; anything else is 404, as on a real server. An answer
may be a function of the request. The client's first question, by which it finds out what a server can do, is answered
as a capable one would and counts nowhere, unless ``probe`` says otherwise.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

from memory_pipeline.models.abilities import PROBE, WORD, forget_abilities

CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in; header names are in lower case, ``port`` is the client's and tells connections apart."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    port: int

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: ``body`` as bytes, or anything else as JSON.

    ``delay`` is in seconds before the first byte. ``missing_bytes`` promises that many more bytes than are sent, and
    breaks off; ``hang_up`` closes the connection without a word. ``drip`` is a pause in seconds before each byte of the
    body, or with ``drip_headers`` of the whole reply.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    missing_bytes: int = 0
    hang_up: bool = False
    drip: float = 0.0
    drip_headers: bool = False


Script: TypeAlias = Answer | Callable[[Request], Answer]


class ScriptedServer:
    """Listens on a free loopback port from ``with`` to its end; keeps every request it got."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.probe: Script | None = capable
        """What answers the client's first question; None leaves it to the scripts like any other request."""
        self._queues: dict[str, deque[Script]] = {}
        self._always: dict[str, Script] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def then(self, path: str, *answers: Script) -> None:
        """Answer the next requests for ``path`` so, one answer each."""
        with self._lock:
            self._queues.setdefault(path, deque()).extend(answers)

    def always(self, path: str, answer: Script) -> None:
        """Answer ``path`` so, whenever nothing is queued for it."""
        with self._lock:
            self._always[path] = answer

    def calls(self, path: str) -> int:
        """How many requests for ``path`` came in."""
        return len(self.requests_for(path))

    def requests_for(self, path: str) -> list[Request]:
        with self._lock:
            return [request for request in self.requests if request.path == path]

    def answer(self, request: Request) -> Answer:
        """Note the request and find what it gets."""
        if self.probe is not None and is_probe(request):
            return self.probe(request) if callable(self.probe) else self.probe
        with self._lock:
            self.requests.append(request)
            queue = self._queues.get(request.path)
            script = queue.popleft() if queue else self._always.get(request.path, NOT_FOUND)
        return script(request) if callable(script) else script

    def wait(self, seconds: float) -> None:
        """Sleep, but not beyond the server's end."""
        self._ended.wait(seconds)

    def __enter__(self) -> Self:
        forget_abilities()  # of a server that had this port before
        self._thread.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._ended.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open, as on real servers
    disable_nagle_algorithm = True  # or each answer takes 40 ms
    server: _Http

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.script.answer(Request(self.command, self.path, headers, body, self.client_address[1]))
        if answer.delay:
            self.server.script.wait(answer.delay)
        if answer.hang_up:
            self.close_connection = True
            return
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        kind = "application/octet-stream" if isinstance(answer.body, bytes) else "application/json"
        sent = {"Content-Type": kind, **answer.headers, "Content-Length": str(len(content) + answer.missing_bytes)}
        try:
            if answer.drip_headers:
                lines = [f"HTTP/1.1 {answer.status} OK", *(f"{name}: {value}" for name, value in sent.items())]
                self._write("\r\n".join([*lines, "", ""]).encode(), answer.drip)
            else:
                self.send_response(answer.status)
                for name, value in sent.items():
                    self.send_header(name, value)
                self.end_headers()
            self._write(content, answer.drip)
        except (BrokenPipeError, ConnectionResetError):  # the client gave up waiting
            self.close_connection = True
        if answer.missing_bytes:
            self.close_connection = True

    def _write(self, content: bytes, pause: float) -> None:
        step = 1 if pause else max(len(content), 1)
        for start in range(0, len(content), step):
            if pause:
                self.server.script.wait(pause)
            self.wfile.write(content[start : start + step])


def is_probe(request: Request) -> bool:
    return request.path == CHAT and PROBE.encode() in request.body


def capable(request: Request) -> Answer:
    """A server that keeps to schemas, with a model that does not think."""
    answered = chat_completion(json.dumps({"word": WORD}))
    return Answer({**answered.body, "model": request.json()["model"]})


def error(message: str, status: int, *, kind: str = "error", headers: Mapping[str, str] | None = None) -> Answer:
    """An error in the shape of OpenAI's API."""
    return Answer({"error": {"message": message, "type": kind, "code": status}}, status, headers or {})


NOT_FOUND = error("File Not Found", 404, kind="not_found_error")


def models(*ids: str) -> Answer:
    """``/v1/models`` with these models."""
    return Answer({"object": "list", "data": [{"id": name, "object": "model"} for name in ids]})


def chat_completion(content: str | None, *, finish_reason: str = "stop", **message: Any) -> Answer:
    """``/v1/chat/completions``; further fields go into the message."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Answer({"object": "chat.completion", "model": "any", "choices": [choice], "usage": usage})


def embeddings(vectors: Sequence[Sequence[float]]) -> Answer:
    """``/v1/embeddings`` with these vectors."""
    data = [{"object": "embedding", "index": index, "embedding": list(vector)} for index, vector in enumerate(vectors)]
    return Answer({"object": "list", "model": "any", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def word_embeddings(dimensions: int = 16) -> Callable[[Request], Answer]:
    """Vectors that depend on the words of each text alone: equal words, equal vectors."""

    def answer(request: Request) -> Answer:
        return embeddings([_of_words(text, dimensions) for text in request.json()["input"]])

    return answer


def _of_words(text: str, dimensions: int) -> list[float]:
    vector = [0.01] * dimensions
    for word in text.lower().split():
        vector[sum(word.encode()) % dimensions] += 1.0
    return vector
