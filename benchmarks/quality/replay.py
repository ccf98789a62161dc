"""An OpenAI-compatible server that answers as a capable model did: recorded answers, one for each turn.

It knows the turn by what the prompt holds of it word for word: its session's id, its start, its user message, the
assistant's words. The answer's fields go into the schema that is asked for, by their names.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.languages import language_of
from memory_pipeline.stores.contract import MemoryStore

MODEL = "recorded-capable-model"
CONTEXT = 16_384
CHARS_A_TOKEN = 4
SHINGLE = 5
"""Words in a row that have to be found for a message to be told by a part of it."""
ENOUGH = 0.5
NO_ANSWER: Mapping[str, Any] = {"memories": [], "entities": []}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A turn as a prompt may show it, and the answer; ``told`` are its assistant's messages."""

    session_id: str
    started_at: str
    asked: str
    told: tuple[str, ...]
    answer: Mapping[str, Any]


def recorded_turns(answers: Path, store: MemoryStore) -> list[Recorded]:
    """The recorded answers with the words of their turns, which are taken from the store."""
    found: list[Recorded] = []
    for line in answers.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        turn_id = Turn.make_id(row["session"], row["turn_index"])
        turns = store.get(Turn, [turn_id])
        messages = list(store.scan(RawMessage, {"turn_id": turn_id}, order=("message_index",)))
        said = {role: [m.content for m in messages if m.role == role] for role in ("user", "assistant")}
        started = turns[0].started_at if turns else ""
        asked, told = "\n".join(said["user"]), tuple(said["assistant"])
        found.append(Recorded(row["session"], started, asked, told, row["answer"]))
    return found


class Finder:
    """Which recorded turn a prompt is about."""

    def __init__(self, recorded: Sequence[Recorded]) -> None:
        self._turns = [(turn, _words(turn.asked), [_words(text) for text in turn.told]) for turn in recorded]

    def find(self, prompt: str) -> Recorded | None:
        """The turn whose user message is in the prompt; of several the one with most words in it. None for none."""
        words = _words(prompt)
        shingles = _shingles(words)
        flat = f" {' '.join(words)} "
        best: tuple[tuple[bool, float], Recorded] | None = None
        for turn, asked, told in self._turns:
            share = _share(asked, flat, shingles)
            if share < ENOUGH:
                continue
            found = share * len(asked) + sum(_share(text, flat, shingles) * len(text) for text in told)
            named = bool(turn.session_id) and turn.session_id in prompt
            timed = bool(turn.started_at) and turn.started_at[:16] in prompt
            rank = (named and timed, found)
            if best is None or rank > best[0]:
                best = rank, turn
        return best[1] if best else None


def shaped(answer: Mapping[str, Any], schema: Any) -> Any:
    """The recorded fields that the schema asks for; what was not recorded gets its type's emptiest value."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array":
        return _shaped_list("memories", answer, schema)
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if not properties:
        return answer
    return {
        name: _shaped_list(name, answer, part) if part.get("type") == "array" else _emptiest(part)
        for name, part in properties.items()
    }


def _shaped_list(name: str, answer: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Any]:
    wanted = schema.get("items", {}).get("properties", {})
    most = schema.get("maxItems")
    rows = answer.get(name, [])[:most]
    if not wanted:
        return list(rows)
    return [{field: _field(field, part, row) for field, part in wanted.items()} for row in rows]


def _field(name: str, schema: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    if name == "language" and name not in row:
        return language_of(row.get("summary", "")) or "en"
    value = row.get(name, _emptiest(schema))
    return value[: schema.get("maxItems")] if isinstance(value, list) else value


def _emptiest(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return {"array": [], "string": "", "object": {}, "boolean": False}.get(str(schema.get("type")), 0)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}


def _share(text: Sequence[str], flat: str, shingles: set[tuple[str, ...]]) -> float:
    """How much of a text's words stands in the prompt: 1.0 where it does as a whole."""
    if not text:
        return 0.0
    if f" {' '.join(text)} " in flat:
        return 1.0
    own = _shingles(text)
    return len(own & shingles) / len(own) if own else 0.0


class ReplayServer:
    """Serves until ``close``; ``lost`` counts prompts that no recorded turn was found for."""

    def __init__(self, recorded: Sequence[Recorded]) -> None:
        self.lost = 0
        self._finder = Finder(recorded)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def get(self, path: str) -> Any:
        """What a GET is answered; None where there is no such path."""
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
        if path == "/props":
            return {"default_generation_settings": {"n_ctx": CONTEXT}, "total_slots": 1}
        return None

    def post(self, path: str, body: Any) -> Any:
        """What a POST is answered; None where there is no such path."""
        if path == "/tokenize":
            return {"tokens": [0] * (len(body["content"]) // CHARS_A_TOKEN + 1)}
        if path == "/v1/chat/completions":
            return self._completion(body)
        return None

    def _completion(self, body: Mapping[str, Any]) -> Any:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        messages = [str(message.get("content", "")) for message in body["messages"]]
        turn = self._finder.find(messages[-1])
        self.lost += turn is None and "memories" in json.dumps(schema)
        content = json.dumps(shaped(turn.answer if turn else NO_ANSWER, schema), ensure_ascii=False)
        prompt_tokens, answer_tokens = sum(map(len, messages)) // CHARS_A_TOKEN, len(content) // CHARS_A_TOKEN
        message = {"role": "assistant", "content": content}
        return {
            "object": "chat.completion",
            "model": MODEL,
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": answer_tokens,
                "total_tokens": prompt_tokens + answer_tokens,
            },
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        replay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._send(replay.get(self.path))

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", 0)))
                self._send(replay.post(self.path, json.loads(raw)))

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

            def _send(self, answer: Any) -> None:
                content = json.dumps(answer or {"error": {"message": "no such path"}}).encode()
                self.send_response(200 if answer is not None else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        return Handler


@contextmanager
def replaying(recorded: Sequence[Recorded]) -> Iterator[ReplayServer]:
    server = ReplayServer(recorded)
    try:
        yield server
    finally:
        server.close()
