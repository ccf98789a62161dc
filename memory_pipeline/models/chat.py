"""The chat model behind any OpenAI-compatible server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from memory_pipeline.errors import ModelAnswerError
from memory_pipeline.models.abilities import abilities_of
from memory_pipeline.models.completions import PATH, completion, request
from memory_pipeline.models.connection import Connection
from memory_pipeline.models.contract import Abilities, ChatAnswer, ChatMessage
from memory_pipeline.models.discovery import LlamaCpp, display_name

_USUAL_CONTEXT = 8192


class ChatClient:
    """A :class:`~memory_pipeline.models.contract.ChatModel` over one connection; safe for threads.

    ``find_model`` gives the id to ask for, and is called at first use. ``context`` in tokens is used where the server
    reports none, or more.
    """

    def __init__(self, connection: Connection, find_model: Callable[[], str], *, context: int | None = None) -> None:
        self._connection = connection
        self._find_model = find_model
        self._context = context
        self._llama_cpp = LlamaCpp(connection)
        self._asking = threading.Lock()

    @cached_property
    def _model_id(self) -> str:
        return self._find_model()

    @property
    def model(self) -> str:
        return display_name(self._model_id)

    @property
    def abilities(self) -> Abilities:
        with self._asking:  # threads that start together need one answer
            return abilities_of(self._connection, self._model_id, self._llama_cpp)

    @property
    def context_tokens(self) -> int:
        known = [tokens for tokens in (self._context, self._llama_cpp.context_tokens) if tokens is not None]
        return min(known, default=_USUAL_CONTEXT)

    def count_tokens(self, text: str) -> int:
        return self._llama_cpp.count_tokens(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any], max_tokens: int, no_loops: bool = False
    ) -> ChatAnswer:
        abilities = self.abilities
        body = request(
            self._model_id, messages, schema=schema, max_tokens=max_tokens, abilities=abilities, no_loops=no_loops
        )
        started = time.monotonic()
        found = completion(self._connection.post(PATH, body))
        if found is None:
            raise ModelAnswerError(f"{self._connection.url} answered with something that is no chat completion.")
        return ChatAnswer(
            # Some servers put a thinking model's whole answer beside the content.
            content=found.content if found.content.strip() else found.thoughts,
            finish_reason=found.finish_reason,
            model=self.model,
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        self._connection.close()
