"""One kept-open HTTP connection to a model server: addresses, time-outs, retries. ``replies`` says what comes back."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from memory_pipeline.errors import ModelOutage, SettingsError
from memory_pipeline.models.replies import Endpoint, WorthAnotherTry, read
from memory_pipeline.models.reply_limit import ReplyLimit, Wires

CONNECT_SECONDS = 5.0
LONGEST_RETRY_AFTER = 30.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class NotReached(WorthAnotherTry):
    """Nothing answers at this address, or it broke off."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often an outage is tried again; with these values the waits come to 8 s at most.

    ``first_wait`` is in seconds, each further wait is three times as long, and up to ``first_wait`` is added at random,
    so that several processes don't come back together.
    """

    tries: int = 4
    first_wait: float = 0.5


def endpoint_at(url: str, api_key: str | None, *, variable: str, key_remedy: str = "check LLAMA_API_KEY") -> Endpoint:
    """The endpoint at an address given with or without ``/v1`` and with or without ``user:password@``.

    Raises SettingsError naming ``variable`` or LLAMA_API_KEY.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise SettingsError(f"{variable}: is no address ({error}); write one such as http://localhost:8080.") from None
    if api_key is not None:
        api_key = api_key.strip()
        if not (api_key.isascii() and api_key.isprintable()):
            raise SettingsError("LLAMA_API_KEY: holds characters that no key can hold; copy it again.")
    login = (parsed.username, parsed.password) if parsed.username or parsed.password else None
    root = str(parsed.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/").removesuffix("/v1")
    return Endpoint(root.rstrip("/"), api_key or None, login, variable, key_remedy)


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses name the same scheme, host and port."""
    first, second = httpx.URL(one), httpx.URL(other)
    return (first.scheme, first.host, _port(first)) == (second.scheme, second.host, _port(second))


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


class Connection:
    """JSON to and from one server; ``locate`` says where it is at each try, since a server of ours may be restarted.

    Tries again what an outage stopped, within ``retries``, and nothing else. A time-out is not tried again: the server
    is most likely still at work on the first request. ``seconds`` is how long one reply may take, to its last byte.
    Safe for threads and across a fork; requests beyond ``at_once`` wait for each other.
    """

    def __init__(
        self,
        locate: Callable[[], Endpoint],
        *,
        seconds: float,
        retries: Retries = Retries(),
        at_once: int = 8,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._locate = locate
        self._seconds = seconds
        self._retries = retries
        self._at_once = at_once
        self._on_close = on_close
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._wires = Wires(at_once)
        self._made_for: tuple[Endpoint, int] | None = None

    @property
    def url(self) -> str:
        """The server's address, without credentials."""
        return self._locate().url

    def get(self, path: str) -> Any:
        """The JSON value at ``path`` (``/v1/models``). Raises ModelOutage, ModelRefused, ModelAnswerError."""
        return self._retrying()(self._request, "GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON value that ``path`` answers ``body`` with. Raises as :meth:`get` does, and InputTooLong."""
        # No JSON holds lone surrogates, which cut texts may contain: they become question marks.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self._retrying()(self._request, "POST", path, content)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = self._made_for = None
        if self._on_close is not None:
            self._on_close()

    def _retrying(self) -> Retrying:
        first = self._retries.first_wait
        growing = wait_exponential(multiplier=first, exp_base=3) + wait_random(0, first)
        return Retrying(
            stop=stop_after_attempt(self._retries.tries),
            retry=retry_if_exception(_may_be_over_soon),
            wait=lambda state: growing(state) if (after := _after(state)) is None else after,
            retry_error_callback=_give_up,
        )

    def _request(self, method: str, path: str, content: bytes | None) -> Any:
        endpoint = self._locate()
        client, wires = self._client_for(endpoint)
        with ReplyLimit(wires, self._seconds) as limit:
            try:
                response = client.request(
                    method, endpoint.url + path, content=content, extensions={"trace": limit.trace}
                )
            except httpx.RequestError as error:
                raise self._failure(endpoint, path, error, overdue=limit.passed) from None
        if limit.passed:  # a reply of no stated length looks complete when it is cut
            raise self._overdue(endpoint, path)
        return read(response, endpoint)

    def _failure(self, endpoint: Endpoint, path: str, error: Exception, *, overdue: bool) -> ModelOutage:
        if overdue or isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            return self._overdue(endpoint, path)
        if isinstance(error, httpx.DecodingError):
            return ModelOutage(f"{endpoint.url} answered {path} with bytes that can't be unpacked.")
        reason = str(error).split("] ", maxsplit=1)[-1].rstrip(".") or type(error).__name__
        remedy = "" if endpoint.variable is None else f"; start the server or correct {endpoint.variable}"
        return NotReached(f"No answer from {endpoint.url} ({reason})", remedy)

    def _overdue(self, endpoint: Endpoint, path: str) -> ModelOutage:
        return ModelOutage(
            f"{endpoint.url} did not answer {path} within {self._seconds:g} s; "
            "raise LLAMA_TIMEOUT or use a faster model."
        )

    def _client_for(self, endpoint: Endpoint) -> tuple[httpx.Client, Wires]:
        wanted = (endpoint, os.getpid())  # a forked child would read its parent's replies
        with self._lock:
            if self._client is None or self._made_for != wanted:
                if self._client is not None and self._made_for is not None and self._made_for[1] == os.getpid():
                    self._client.close()
                self._client, self._made_for = self._new_client(endpoint), wanted
                self._wires = Wires(self._at_once)
            return self._client, self._wires

    def _new_client(self, endpoint: Endpoint) -> httpx.Client:
        headers = {"Content-Type": "application/json"}
        if endpoint.api_key is not None:
            headers["Authorization"] = f"Bearer {endpoint.api_key}"
        return httpx.Client(
            headers=headers,
            auth=endpoint.login,
            timeout=httpx.Timeout(self._seconds, connect=CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=self._at_once),
            trust_env=httpx.URL(endpoint.url).host not in _LOOPBACK,  # no proxy reaches this machine's loopback
        )


def _after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.after if isinstance(error, WorthAnotherTry) else None


def _may_be_over_soon(error: BaseException) -> bool:
    return isinstance(error, WorthAnotherTry) and (error.after or 0.0) <= LONGEST_RETRY_AFTER


def _give_up(state: RetryCallState) -> Any:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, WorthAnotherTry):
        tries = f" after {state.attempt_number} tries" if state.attempt_number > 1 else ""
        raise type(error)(error.what + tries, error.remedy) from None
    raise AssertionError("only outages are tried again")
