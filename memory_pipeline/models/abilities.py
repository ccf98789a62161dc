"""Finds out what a chat server can do, by asking it for a few tokens, once for each model in a process.

The requests are those of real work, so what is accepted here is accepted there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from memory_pipeline.errors import InputTooLong, KeyRefused, ModelAnswerError, ModelRefused
from memory_pipeline.models.completions import PATH, Completion, completion, request
from memory_pipeline.models.connection import Connection
from memory_pipeline.models.contract import Abilities, ChatMessage, Shape, Thinking
from memory_pipeline.models.discovery import LlamaCpp, display_name
from memory_pipeline.models.replies import NoSuchPath

PROBE = "Answer with a JSON object that holds one word."
WORD = "heron-7"
"""Nothing that a model would say of its own accord: only an enforced schema brings it about."""
PROBE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": [WORD]}},
    "required": ["word"],
    "additionalProperties": False,
}
PROBE_TOKENS = 48

_FINAL = (KeyRefused, NoSuchPath, InputTooLong)
"""Refusals that have nothing to do with how an answer is asked for."""
_known: dict[tuple[str, str], Abilities] = {}


def abilities_of(connection: Connection, model_id: str, llama_cpp: LlamaCpp) -> Abilities:
    """What the server can do with this model. Raises ModelOutage, ModelRefused, ModelAnswerError."""
    key = (connection.url, model_id)
    if key not in _known:
        _known[key] = _find(connection, model_id, llama_cpp)
    return _known[key]


def forget_abilities() -> None:
    """Ask anew from now on: other servers may be at the same addresses."""
    _known.clear()


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one way of asking brought."""

    abilities: Abilities
    completion: Completion

    @property
    def value(self) -> Any:
        """The JSON value answered with, wherever it was put; None if there is none."""
        for text in (self.completion.content, self.completion.thoughts):
            try:
                return json.loads(text)
            except ValueError:
                continue
        return None

    @property
    def thought(self) -> bool:
        thoughts = self.completion.thoughts.strip()
        return self.completion.content.lstrip().startswith("<think") or bool(thoughts and self.value is None)

    @property
    def enforced(self) -> bool:
        return bool(self.value == {"word": WORD})


def _find(connection: Connection, model_id: str, llama_cpp: LlamaCpp) -> Abilities:
    def ask(abilities: Abilities) -> _Seen:
        messages = [ChatMessage("user", PROBE)]
        body = request(model_id, messages, schema=PROBE_SCHEMA, max_tokens=PROBE_TOKENS, abilities=abilities)
        found = completion(connection.post(PATH, body))
        if found is None:
            raise ModelAnswerError(f"{connection.url} answered with something that is no chat completion.")
        return _Seen(abilities, found)

    context = llama_cpp.context_tokens
    thinking: Thinking = "off" if llama_cpp.has_thinking_switch else "none"
    first = Abilities(thinking=thinking, context_tokens=context, llama_cpp=context is not None)
    seen = _without_thoughts(ask, _accepted(ask, first))
    if seen.abilities.shape == "schema" and not seen.enforced and seen.abilities.thinking != "on":
        seen = _unenforced(ask, seen)
    name = seen.completion.model
    return replace(seen.abilities, answers_as=display_name(name) if name else None)


def _accepted(ask: Callable[[Abilities], _Seen], first: Abilities) -> _Seen:
    """The first way of asking for JSON that the server does not refuse."""
    try:
        return ask(first)
    except _FINAL:
        raise
    except ModelRefused:
        try:
            return ask(replace(first, shape="json_object"))
        except ModelRefused:
            return ask(replace(first, shape="words"))


def _without_thoughts(ask: Callable[[Abilities], _Seen], seen: _Seen) -> _Seen:
    """With the switch for thinking, if the model thinks and the switch helps."""
    if not seen.thought:
        return seen
    switched = seen
    if seen.abilities.thinking != "off":
        with contextlib.suppress(ModelRefused):
            switched = ask(replace(seen.abilities, thinking="off"))
    return replace(seen, abilities=replace(seen.abilities, thinking="on")) if switched.thought else switched


def _unenforced(ask: Callable[[Abilities], _Seen], seen: _Seen) -> _Seen:
    """The server took the schema and did not keep to it: then any JSON object, if it gives one when asked for that."""
    shape: Shape = "words"
    with contextlib.suppress(ModelRefused):
        shape = "json_object" if isinstance(ask(replace(seen.abilities, shape="json_object")).value, dict) else "words"
    return replace(seen, abilities=replace(seen.abilities, shape=shape))
