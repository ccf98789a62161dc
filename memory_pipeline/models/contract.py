"""What the other rooms ask of models: an embedder, and a chat model that answers with JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Shape: TypeAlias = Literal["schema", "json_object", "words"]
Thinking: TypeAlias = Literal["none", "off", "on"]


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
class Abilities:
    """What a chat server was found to do.

    ``shape``: how JSON is asked for: by a schema, which it enforces, as any JSON object, or in words alone.
    ``thinking``: the model does not think (none), is kept from it by a switch (off), or can't be (on).
    ``context_tokens``: what one request may hold, where the server says so. ``answers_as``: the model's name in its
    replies.
    """

    shape: Shape = "schema"
    thinking: Thinking = "none"
    context_tokens: int | None = None
    llama_cpp: bool = False
    answers_as: str | None = None


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a chat model answered: the raw text, and the server's own token counts (0 if it gives none).

    ``finish_reason`` is the server's word: ``stop``, ``length`` (cut off), ``content_filter`` (refused), or empty.
    """

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
    def abilities(self) -> Abilities:
        """What the server can do; it is asked for a few tokens when this, or an answer, is first needed.

        Raises ModelOutage, ModelRefused, ModelAnswerError.
        """
        ...

    @property
    def context_tokens(self) -> int:
        """How many tokens prompt and answer may have together."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the server's own tokenizer where it offers one, else a cautious estimate."""
        ...

    def complete(
        self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any], max_tokens: int, no_loops: bool = False
    ) -> ChatAnswer:
        """One answer at temperature 0, shaped by a JSON schema where the server can do that.

        Where it can't, the messages must say what is wanted. ``no_loops``: make repeating itself hard for the model,
        where the server can do that; quotes suffer too. Raises ModelOutage, ModelRefused (InputTooLong among them),
        ModelAnswerError where the reply is no chat completion at all. The content is not checked here.
        """
        ...

    def close(self) -> None: ...
