"""One request for a chat completion, and what its reply says. Pure functions; ``chat`` and ``abilities`` send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_pipeline.models.contract import Abilities, ChatMessage

PATH = "/v1/chat/completions"
NO_LOOPS: Mapping[str, Any] = {"repeat_penalty": 1.15, "repeat_last_n": 128}
"""llama.cpp's fields that make the last so many tokens less likely to come again."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The parts of a chat completion, empty or 0 where the server does not give them.

    ``thoughts`` is what stands beside the content; ``model`` is the name that the server answers by.
    """

    content: str
    thoughts: str
    finish_reason: str
    model: str
    prompt_tokens: int
    completion_tokens: int


def request(
    model: str,
    messages: Sequence[ChatMessage],
    *,
    schema: Mapping[str, Any],
    max_tokens: int,
    abilities: Abilities,
    no_loops: bool = False,
) -> dict[str, Any]:
    """The body that asks for JSON by the best means that the server has, and for no thoughts where that can be had."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    if abilities.shape == "schema":
        shape = schema if abilities.llama_cpp else without_lengths(schema)
        named = {"name": "answer", "strict": True, "schema": shape}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif abilities.shape == "json_object":
        body["response_format"] = {"type": "json_object"}
    if abilities.thinking == "off":
        body["chat_template_kwargs"] = {"enable_thinking": False}
    if abilities.llama_cpp:  # others refuse these fields
        body["cache_prompt"] = True
        if no_loops:
            body |= NO_LOOPS
    return body


def without_lengths(schema: Any) -> Any:
    """The schema without lengths of strings: some servers refuse one that has them."""
    if isinstance(schema, Mapping):
        return {name: without_lengths(part) for name, part in schema.items() if name != "maxLength"}
    return [without_lengths(part) for part in schema] if isinstance(schema, list) else schema


def completion(reply: Any) -> Completion | None:
    """What a reply says; None where it is no chat completion."""
    try:
        choice = reply["choices"][0]
        message = choice["message"]
        content = message.get("content") or ""
        thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
        refusal = message.get("refusal")
    except (LookupError, TypeError, AttributeError):
        return None
    if not isinstance(content, str) or not isinstance(thoughts, str):
        return None
    finish_reason = "content_filter" if refusal and not content else str(choice.get("finish_reason") or "")
    usage = reply.get("usage")
    model = reply.get("model")
    return Completion(
        content,
        thoughts,
        finish_reason,
        model if isinstance(model, str) else "",
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _count(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) else 0
