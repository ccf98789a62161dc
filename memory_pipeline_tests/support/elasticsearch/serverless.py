"""A server that refuses what Serverless refuses, and leaves the rest to a real Elasticsearch behind it.

Serverless itself can't be had in a test. Its rules are those of Elasticsearch's public source: handlers and index
settings that are not marked as public there answer as below; vectors are left out of a document's source, as it is with
every index made by 9.2 or later.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

_AVAILABLE = re.compile(
    r"/(|_bulk|_mget|_search|_msearch|_count|_pit|_aliases|_alias/[^/]+|_inference(/.*)?|_ingest/pipeline/[^/]+"
    r"|_security/(api_key|_authenticate)"
    r"|[^/_][^/]*(/(_bulk|_mget|_search|_msearch|_count|_pit|_refresh|_mapping|_settings|_alias(/[^/]+)?"
    r"|_delete_by_query|_update_by_query|_create/.*|_doc/.*|_update/.*))?)"
)
_PUBLIC_SETTINGS = re.compile(
    r"index\.(analysis|blocks|mapping|query|sort|similarity)\..*|index\.(default|final)_pipeline"
)
_PARAMETERS_NOT_AVAILABLE = {"master_timeout", "wait_for_active_shards", "scroll", "preference"}


@dataclass(slots=True)
class Serverless:
    """Where it listens, and what it refused: (method, path, reason)."""

    url: str
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def serverless(behind: str) -> Iterator[Serverless]:
    """Serverless as far as its refusals go, before the server at ``behind``."""
    with httpx.Client(base_url=behind, timeout=60) as client:

        class Handler(_Handler):
            real = client

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        host, port = server.server_address[0], server.server_address[1]
        Handler.seen = Serverless(f"http://{host!s}:{port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Handler.seen
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    real: httpx.Client
    seen: Serverless
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.seen.asked.append((self.command, urlsplit(self.path).path))
        if (refusal := _refusal(self.command, self.path, content)) is not None:
            status, kind, reason = refusal
            self.seen.refused.append((self.command, self.path, reason))
            cause = {"type": kind, "reason": reason}
            body = json.dumps({"error": {"root_cause": [cause], **cause}, "status": status}).encode()
            kind = "application/vnd.elasticsearch+json;compatible-with=8"
            self._answer(status, {"X-elastic-product": "Elasticsearch", "content-type": kind}, body)
            return
        passed = {
            name: value for name, value in self.headers.items() if name.lower() not in ("host", "accept-encoding")
        }
        answer = self.real.request(self.command, self.path, content=content, headers=passed)
        kept = {n: v for n, v in answer.headers.items() if n in ("x-elastic-product", "content-type")}
        self._answer(answer.status_code, kept, _without_vectors(answer.content))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _refusal(method: str, target: str, content: bytes) -> tuple[int, str, str] | None:
    url = urlsplit(target)
    if not _AVAILABLE.fullmatch(url.path):
        reason = f"Request for uri [{url.path}] with method [{method}] exists but is not available"
        return 410, "api_not_available_exception", f"{reason} when running in serverless mode"
    for name, _ in parse_qsl(url.query, keep_blank_values=True):
        if name in _PARAMETERS_NOT_AVAILABLE:
            return 400, "status_exception", f"Parameter [{name}] is not available when running in serverless mode"
    makes_index = url.path.count("/") == 1 and not url.path.startswith("/_")
    if method == "PUT" and (makes_index or url.path.endswith("/_settings")):
        given = json.loads(content or b"{}")
        settings = given.get("settings", {}) if makes_index else given.get("settings", given)
        for name, value in _flat(settings):
            if name == "index.refresh_interval" and value not in (None, "-1") and _seconds(value) < 5:
                return 400, "illegal_argument_exception", f"index setting [{name}={value}] should be at least 5s"
            if name != "index.refresh_interval" and not _PUBLIC_SETTINGS.fullmatch(name):
                reason = f"Settings [{name}] are not available when running in serverless mode"
                return 400, "illegal_argument_exception", reason
    return None


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        whole = f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{whole}.")
        else:
            yield whole if whole.startswith("index.") else f"index.{whole}", value


def _seconds(told: object) -> float:
    match = re.fullmatch(r"(\d+)(ms|s|m)", str(told))
    return 0.0 if match is None else int(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2]]


def _without_vectors(content: bytes) -> bytes:
    """The answer, its documents without their vectors."""
    if b'"_source"' not in content:
        return content
    answer = json.loads(content)
    for part in answer.get("responses", [answer]):
        for hit in (*part.get("hits", {}).get("hits", []), *part.get("docs", [])):
            source = hit.get("_source", {})
            for name in ("summary_embedding", "embedding"):
                if isinstance(source.get(name), list):
                    del source[name]
    return json.dumps(answer).encode()
