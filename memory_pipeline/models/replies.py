"""What a model server's reply means: its JSON, or the error it stands for, as a sentence. Pure functions over replies.

Sending requests is ``connection``'s.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import httpx

from memory_pipeline.errors import InputTooLong, KeyRefused, ModelAnswerError, ModelError, ModelOutage, ModelRefused

_QUOTED_CHARS = 200
_WEB_PAGE = "a web page"
_TOO_LONG = re.compile(
    r"exceed_context_size|context_length_exceeded|maximum context length|available context size|max context size"
    r"|exceeds the (model's )?context|physical batch size|string_above_max_length",
    re.IGNORECASE,
)
"""How llama.cpp, OpenAI, vLLM and Ollama say that a request holds too many tokens; llama.cpp partly with status 500."""
_MODEL_MISSING = re.compile(r"model\b.*\b(not (be )?found|not exist|no access)", re.IGNORECASE)
_WORTH_ANOTHER_TRY = {408, 425, 429}
_NO_SUCH_PATH = {404, 405, 501}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server is, what lets us in, and what a person would change about either.

    ``url`` is the root that ``/v1/…`` is put behind, without credentials, so it can be shown.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)
    variable: str | None = None
    """The setting that names the server; None for a server that was started here."""
    key_remedy: str = "check LLAMA_API_KEY"


class WorthAnotherTry(ModelOutage):
    """An outage that may be over in seconds: ``what`` happened, what a person could do, and how many seconds the server
    asked to wait, if it did.
    """

    def __init__(self, what: str, remedy: str = "", after: float | None = None) -> None:
        super().__init__(f"{what}{remedy}.")
        self.what = what
        self.remedy = remedy
        self.after = after


class NoSuchPath(ModelRefused):
    """The server has nothing at this path."""


class NotJson(ModelOutage):
    """Something else stands at this address: a portal, a web site, a proxy's page."""


def read(response: httpx.Response, endpoint: Endpoint) -> Any:
    """The JSON value of a reply; raises the ModelError that the reply stands for."""
    value = _json(response)
    status = response.status_code
    if status < 300 and isinstance(value, dict) and value.get("error"):
        status = _inner_status(value["error"])  # gateways pass on what their back ends said inside a 200
    if status >= 300:
        raise _error(status, response, value, endpoint)
    if value is None:
        raise _not_json(response, endpoint)
    return value


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def _inner_status(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 400


def _not_json(response: httpx.Response, endpoint: Endpoint) -> ModelError:
    where = f"{endpoint.url}{_path(response)}"
    if response.text.lstrip().startswith(("{", "[")):
        return ModelAnswerError(f"{where} answered with JSON that is broken off or invalid.")
    quote = _quote(response, None, endpoint)
    what = "nothing" if not quote else quote if quote == _WEB_PAGE else f'"{quote}"'
    return NotJson(f"{where} answered with {what} where JSON was due{_correct(endpoint)}.")


def _error(status: int, response: httpx.Response, value: Any, endpoint: Endpoint) -> ModelError:
    path, quote = _path(response), _quote(response, value, endpoint)
    if 300 <= status < 400:
        target = _without_credentials(response.headers.get("location", ""))
        return ModelRefused(f"{endpoint.url} sends requests on to {target}, which is not followed{_correct(endpoint)}.")
    if status == 413 or _TOO_LONG.search(response.text):
        return InputTooLong(f"{endpoint.url} takes no input this long.")
    if status in _WORTH_ANOTHER_TRY or (status >= 500 and status not in _NO_SUCH_PATH):
        what = "is limiting requests" if status == 429 else "is out of order"
        after = _retry_after(response)
        wait = "" if after is None else f"; it asks to wait {after:g} s"
        # No quote here: a server in trouble may echo the prompt, and these sentences are kept in histories and logs.
        return WorthAnotherTry(f"{endpoint.url} {what} ({status})", wait, after)
    if status in (401, 403):
        return KeyRefused(f"{endpoint.url} refused the key ({status}: {quote}); {endpoint.key_remedy}.")
    if status in _NO_SUCH_PATH and not _MODEL_MISSING.search(quote):
        return NoSuchPath(f"{endpoint.url} has no {path} ({status}: {quote}){_correct(endpoint)}.")
    return ModelRefused(f"{endpoint.url} refused the request to {path} ({status}: {quote}).")


def _correct(endpoint: Endpoint) -> str:
    if endpoint.variable is None:
        return ""
    return f"; set {endpoint.variable} to the address of an OpenAI-compatible server"


def _quote(response: httpx.Response, value: Any, endpoint: Endpoint) -> str:
    """What the server said, in short and without our key."""
    message = value
    for name in ("error", "message"):
        if isinstance(message, dict):
            message = message.get(name, message)
    if not isinstance(message, str):
        message = response.text
    if re.match(r"\s*<(!doctype|html|\?xml)", message, re.IGNORECASE):
        return _WEB_PAGE
    if endpoint.api_key:
        message = message.replace(endpoint.api_key, "***")
    message = " ".join(message.split()).rstrip(".")
    return message if len(message) <= _QUOTED_CHARS else message[:_QUOTED_CHARS] + "…"


def _path(response: httpx.Response) -> str:
    path = response.request.url.path
    return path[path.find("/v1/") :] if "/v1/" in path else path


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):  # absent, or a date: rare, and not worth a guess about clocks
        return None


def _without_credentials(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url.split("?", maxsplit=1)[0])
