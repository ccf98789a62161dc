"""The embedder behind any OpenAI-compatible server: batches, order, length of inputs and of vectors."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from memory_pipeline.errors import InputTooLong, ModelAnswerError
from memory_pipeline.models.connection import Connection
from memory_pipeline.models.discovery import LlamaCpp, display_name
from memory_pipeline.vectors import BLANK, of_unit_length

_BATCH_TEXTS = 64
_BATCH_CHARS = 100_000
_SPECIAL_TOKENS = 8
"""More than any tokenizer puts around a text."""
_CHARS_PER_TOKEN = 16
"""No prefix of that many characters a token is worth tokenizing: the limit is passed long before."""


class EmbeddingClient:
    """An :class:`~memory_pipeline.models.contract.Embedder` over one connection.

    ``find_model`` gives the id to ask for, and is called at first use. ``dimensions``, where given, is how many
    numbers of each vector are kept, at unit length again (Matryoshka representations, Kusupati et al. 2022); else the
    first answer decides what every vector must have.
    """

    def __init__(self, connection: Connection, find_model: Callable[[], str], *, dimensions: int | None = None) -> None:
        self._connection = connection
        self._find_model = find_model
        self._wanted = dimensions
        self._seen: int | None = None
        self._llama_cpp = LlamaCpp(connection)

    @cached_property
    def _model_id(self) -> str:
        return self._find_model()

    @property
    def model(self) -> str:
        return display_name(self._model_id)

    @property
    def dimensions(self) -> int:
        """Length of the vectors; asks for one where none came yet."""
        if self._seen is None:
            self.embed([BLANK])
        assert self._seen is not None
        return self._seen

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        fitting = (self._fitting(text) for text in texts)
        return [vector for batch in _batches(fitting) for vector in self._embed(batch)]

    def close(self) -> None:
        self._connection.close()

    def _fitting(self, text: str) -> str:
        """The text, cut at its end where the server's own tokenizer counts more tokens than it takes."""
        text = text.strip() or BLANK
        limit = self._llama_cpp.context_tokens
        if limit is None or len(text.encode("utf-8", "replace")) + _SPECIAL_TOKENS <= limit:
            return text  # no tokenizer makes more tokens than bytes
        text = text[: limit * _CHARS_PER_TOKEN]
        if self._tokens(text) <= limit:
            return text
        # Found on the text itself, since what /detokenize gives back is lower-cased and has holes for unknown words.
        end = bisect_right(range(len(text)), limit, key=lambda length: self._tokens(text[:length])) - 1
        return text[:end]

    def _tokens(self, text: str) -> int:
        return self._llama_cpp.count_tokens(text, special=True)

    def _embed(self, texts: list[str]) -> list[list[float]]:
        try:
            reply = self._connection.post("/v1/embeddings", {"model": self._model_id, "input": texts})
        except InputTooLong:
            # Where the limit isn't known: halve the batch until only the text that is too long is left, then that text.
            if len(texts) > 1:
                middle = len(texts) // 2
                return self._embed(texts[:middle]) + self._embed(texts[middle:])
            if len(texts[0]) == 1:
                raise
            return self._embed([texts[0][: len(texts[0]) // 2].strip() or BLANK])
        return self._vectors(reply, len(texts))

    def _vectors(self, reply: Any, count: int) -> list[list[float]]:
        try:
            by_index = {entry["index"]: entry["embedding"] for entry in reply["data"]}
            vectors = [self._kept(by_index[index]) for index in range(count)]
        except (LookupError, TypeError):
            raise ModelAnswerError(f"{self._connection.url} answered with something that is no embedding.") from None
        except ValueError as error:
            raise ModelAnswerError(f"{self._connection.url} sent {error}.") from None
        return vectors

    def _kept(self, sent: Sequence[float]) -> list[float]:
        due = self._wanted or self._seen
        if due is not None and (len(sent) < due or (len(sent) > due and self._wanted is None)):
            why = "MEMORY_EMBEDDINGS_DIMS asks for" if self._wanted else "it sent before"
            raise ModelAnswerError(
                f"{self._connection.url} sent a vector of {len(sent)} numbers, not of the {due} that {why}."
            )
        vector = of_unit_length(sent[:due])
        self._seen = len(vector)
        return vector


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or chars + len(text) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch
