"""What the other rooms ask of models: an embedder, and a chat model that answers with JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Embedder(Protocol):
    """Texts in, vectors of unit length out."""

    @property
    def model(self) -> str:
        """The model's name as kept beside each vector; another name means other vectors."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit-length vector per text, in order. A text longer than the model takes is cut at its end.

        Raises ModelOutage, ModelRefused, ModelAnswerError.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str  # system, user or assistant
    content: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a chat model answered: the raw text, and the server's own token counts (0 if it gives none)."""

    content: str
    finish_reason: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class ChatModel(Protocol):
    """A chat model behind an OpenAI-compatible API."""

    @property
    def model(self) -> str:
        """The name that the server goes by; raises ModelOutage or ModelRefused where it can't be learnt."""
        ...

    @property
    def context_tokens(self) -> int:
        """How many tokens prompt and answer may have together."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the server's own tokenizer where it offers one, else a cautious estimate."""
        ...

    def complete(self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any], max_tokens: int) -> ChatAnswer:
        """One answer that the server was told to shape by a JSON schema; temperature 0.

        Raises ModelOutage, ModelRefused (InputTooLong among them), ModelAnswerError where the reply is no chat
        completion at all. The content is not checked here.
        """
        ...

    def close(self) -> None: ...
