"""What a server says of itself: the models it offers, its context, its tokenizer.

``/v1/models`` is every OpenAI-compatible server's; ``/props`` and ``/tokenize`` are llama.cpp's own, and a server that
has none is simply asked no more.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memory_pipeline.errors import ModelAnswerError, ModelError, ModelRefused
from memory_pipeline.models.connection import Connection, Retries, endpoint_at
from memory_pipeline.models.replies import NoSuchPath, NotJson

_PROBE_SECONDS = 1.0
_NAMES_SHOWN = 8
_UNKNOWN_HERE = (ModelRefused, ModelAnswerError, NotJson)
"""How servers other than llama.cpp answer at llama.cpp's own paths."""
_BYTES_PER_TOKEN = 3
"""A cautious guess: prose has four or more, identifiers and other scripts about three."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server said of itself; ``context_tokens`` is known of llama.cpp only."""

    url: str
    models: tuple[str, ...]
    context_tokens: int | None


def probe_server(url: str, api_key: str | None = None) -> ServerInfo | None:
    """Ask a server for its models and context; None where no OpenAI-compatible one answers within a second or so.

    Raises SettingsError where ``url`` is no address.
    """
    endpoint = endpoint_at(url, api_key, variable="LLAMA_URL")
    connection = Connection(lambda: endpoint, seconds=_PROBE_SECONDS, retries=Retries(tries=1))
    try:
        models = tuple(display_name(str(entry["id"])) for entry in _listed(connection))
        return ServerInfo(endpoint.url, models, LlamaCpp(connection).context_tokens) if models else None
    except ModelError:
        return None
    finally:
        connection.close()


def choose_model(connection: Connection, wanted: str | None, *, variable: str) -> str:
    """The id to ask ``connection`` for: the one ``wanted``, as the server spells it, else the first that it offers.

    A server that lists no models is believed to have what is wanted. Raises ModelRefused naming what is offered and
    ``variable``, and ModelOutage.
    """
    offered = []
    with contextlib.suppress(ModelAnswerError):
        offered = _listed(connection)
    if wanted is None:
        if not offered:
            raise ModelRefused(f"{connection.url} does not say which models it has; set {variable}.")
        return str(offered[0]["id"])
    for entry in offered:
        if wanted.lower() in _spellings(entry):
            return str(entry["id"])
    if offered:
        names = [display_name(str(entry["id"])) for entry in offered]
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        shown = ", ".join(names[:_NAMES_SHOWN]) + more
        raise ModelRefused(
            f"{connection.url} has no model {wanted}; it offers {shown}; set {variable} to one of these."
        )
    return wanted


def display_name(model_id: str) -> str:
    """A model's name for people and documents: of llama.cpp's path-like ids the file's name without ``.gguf``."""
    if model_id.lower().endswith(".gguf"):
        return re.split(r"[/\\]", model_id)[-1][: -len(".gguf")]
    return model_id


def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model: equal, or one the other with a date, tag or publisher added."""
    shorter, longer = sorted((one.lower(), other.lower()), key=len)
    return longer.startswith(shorter) or longer.endswith(f"/{shorter}")


def _listed(connection: Connection) -> list[Mapping[str, Any]]:
    """The entries of /v1/models, each with an id; none where the server has no such list."""
    try:
        reply = connection.get("/v1/models")
    except NoSuchPath:
        return []
    entries = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(entries, list):
        raise ModelAnswerError(f"{connection.url} answered /v1/models with something that is no list of models.")
    return [entry for entry in entries if isinstance(entry, dict) and entry.get("id")]


def _spellings(entry: Mapping[str, Any]) -> Iterator[str]:
    aliases = entry.get("aliases")
    for name in [entry["id"], *(aliases if isinstance(aliases, list) else [])]:
        full = str(name).lower()
        yield full
        yield full.removesuffix(":latest")  # Ollama's default tag
        yield re.split(r"[/\\]", full)[-1]
        yield display_name(full)


class LlamaCpp:
    """llama.cpp's own endpoints behind a connection; on other servers its properties are None."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tokenizes = True

    @property
    def context_tokens(self) -> int | None:
        """Tokens that one request may hold, from ``/props``."""
        settings = self._props.get("default_generation_settings")
        tokens = settings.get("n_ctx") if isinstance(settings, dict) else None
        return tokens if isinstance(tokens, int) and tokens > 0 else None

    @property
    def has_thinking_switch(self) -> bool:
        """Whether the model's chat template knows how to keep it from thinking."""
        return "enable_thinking" in str(self._props.get("chat_template"))

    @cached_property
    def _props(self) -> Mapping[str, Any]:
        try:
            reply = self._connection.get("/props")
        except _UNKNOWN_HERE:
            return {}
        return reply if isinstance(reply, dict) else {}

    def count_tokens(self, text: str, *, special: bool = False) -> int:
        """Tokens of ``text`` by ``/tokenize``, else a cautious guess; with ``special`` those put around it as well."""
        if self._tokenizes:
            try:
                reply = self._connection.post("/tokenize", {"content": text, "add_special": special})
            except _UNKNOWN_HERE:
                reply = None
            tokens = reply.get("tokens") if isinstance(reply, dict) else None
            if isinstance(tokens, list):
                return len(tokens)
            self._tokenizes = False
        return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
