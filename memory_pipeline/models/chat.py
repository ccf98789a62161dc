"""The chat model behind any OpenAI-compatible server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from memory_pipeline.errors import ModelAnswerError
from memory_pipeline.models.connection import Connection
from memory_pipeline.models.contract import ChatAnswer, ChatMessage
from memory_pipeline.models.discovery import LlamaCpp, display_name

_USUAL_CONTEXT = 8192


class ChatClient:
    """A :class:`~memory_pipeline.models.contract.ChatModel` over one connection, which should be one at a time.

    ``find_model`` gives the id to ask for, and is called at first use. ``context`` in tokens overrides what the server
    reports.
    """

    def __init__(self, connection: Connection, find_model: Callable[[], str], *, context: int | None = None) -> None:
        self._connection = connection
        self._find_model = find_model
        self._context = context
        self._llama_cpp = LlamaCpp(connection)

    @cached_property
    def _model_id(self) -> str:
        return self._find_model()

    @property
    def model(self) -> str:
        return display_name(self._model_id)

    @property
    def context_tokens(self) -> int:
        return self._context or self._llama_cpp.context_tokens or _USUAL_CONTEXT

    def count_tokens(self, text: str) -> int:
        return self._llama_cpp.count_tokens(text)

    def complete(self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any], max_tokens: int) -> ChatAnswer:
        body: dict[str, Any] = {
            "model": self._model_id,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": 0,
            "max_tokens": max_tokens,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            },
        }
        if self._llama_cpp.context_tokens is not None:
            # A thinking model would spend the answer's tokens before the schema takes hold; others refuse the field.
            body["chat_template_kwargs"] = {"enable_thinking": False}
        started = time.monotonic()
        reply = self._connection.post("/v1/chat/completions", body)
        return self._answer(reply, time.monotonic() - started)

    def close(self) -> None:
        self._connection.close()

    def _answer(self, reply: Any, seconds: float) -> ChatAnswer:
        try:
            choice = reply["choices"][0]
            message = choice["message"]
            # Some servers put a thinking model's whole answer beside the content.
            content = message.get("content") or message.get("reasoning_content") or ""
            if not isinstance(content, str):
                raise TypeError
        except (LookupError, TypeError, AttributeError):
            raise ModelAnswerError(
                f"{self._connection.url} answered with something that is no chat completion."
            ) from None
        usage = reply.get("usage")
        return ChatAnswer(
            content=content,
            finish_reason=str(choice.get("finish_reason") or ""),
            model=self.model,
            prompt_tokens=_count(usage, "prompt_tokens"),
            completion_tokens=_count(usage, "completion_tokens"),
            seconds=seconds,
        )


def _count(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) else 0
