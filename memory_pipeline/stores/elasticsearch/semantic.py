"""The store where the cluster makes the vectors itself, of a text that is set for each document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memory_pipeline.batches import batched
from memory_pipeline.documents import Document
from memory_pipeline.errors import EmbeddingMismatch
from memory_pipeline.stores.admission import Admitted
from memory_pipeline.stores.contract import BulkResult, D, Refused
from memory_pipeline.stores.elasticsearch.connection import Server
from memory_pipeline.stores.elasticsearch.indices import Index
from memory_pipeline.stores.elasticsearch.inference import InferenceEmbedder
from memory_pipeline.stores.elasticsearch.store import ElasticsearchStore
from memory_pipeline.stores.elasticsearch.writing import NewVector, VectorsWritten, write_vectors
from memory_pipeline.stores.spaces import Space
from memory_pipeline.vectors import BLANK

_BATCH = 64
_LEAST_CHARS = 64


class SemanticStore(ElasticsearchStore):
    """An Elasticsearch store whose vectors an inference endpoint makes, of a text that is set for each document.

    A document that is changed loses its vector until its text is set again.
    """

    def __init__(self, server: Server, inference_id: str, *, prefix: str = "memory") -> None:
        super().__init__(server, prefix=prefix, inference_id=inference_id)
        self._inference_id = inference_id

    def put_texts(self, kind: type[D], texts: Mapping[str, str], *, model: str, dimensions: int) -> BulkResult:
        """Set what the vectors of stored documents are made of; the endpoint makes them before this returns.

        The first call fixes model and dimensions; EmbeddingMismatch for another model. A text longer than the model
        takes is cut at its end. An unknown id is refused by name. Raises ModelOutage, ModelRefused, StoreError.
        """
        index = self._indices[kind]
        if index.vectors is None:
            # A field can't be mapped to an endpoint that is missing.
            InferenceEmbedder(self._server, self._inference_id).check()
        space = self._space(kind) or self._open_space(Space(index.alias, model, dimensions), kind)
        space.check_model(model)
        self._indices.add_vectors(kind, space.dimensions)
        self._written.add(index.alias)
        result = BulkResult()
        for batch in batched(texts.items(), _BATCH):
            new = {doc_id: NewVector.of_text(text.strip() or BLANK) for doc_id, text in batch}
            done = self._put(index, new, model)
            refused = [Refused(doc_id, "doc_id", "is not in the store") for doc_id in done.unknown]
            result = BulkResult(
                result.written + done.written, result.unchanged + done.unchanged, (*result.refused, *refused)
            )
        return result

    def put_vectors(self, kind: type[D], vectors: Mapping[str, Sequence[float]], *, model: str) -> BulkResult:  # noqa: ARG002
        raise EmbeddingMismatch(
            f"{self._indices.aliases[kind]} holds vectors made by the inference endpoint {self._inference_id}, so none "
            f"of {model} can be put there; set MEMORY_EMBEDDINGS=elasticsearch."
        )

    def _admit(self, kind: type[Document], document: object) -> Admitted | Refused:
        """Without the vector that it may bring: the endpoint makes its own."""
        admitted = super()._admit(kind, document)
        return admitted if isinstance(admitted, Refused) else replace(admitted, vector=None, model=None)

    def _put(self, index: Index, new: Mapping[str, NewVector], model: str) -> VectorsWritten:
        done = write_vectors(self._server, index, new, model)
        # One text that the model can't take fails all that were sent with it, so each is tried alone, then cut.
        for doc_id, failure in done.not_embedded.items():
            again = new[doc_id] if len(new) > 1 else _halved(new[doc_id])
            if again is None:
                raise failure.as_error(self._server.place)
            done.written += self._put(index, {doc_id: again}, model).written
        return done


def _halved(new: NewVector) -> NewVector | None:
    """With the first half of its text; None for one that is short already."""
    text = str(new.value)
    return None if len(text) <= _LEAST_CHARS else replace(new, value=text[: len(text) // 2].strip() or BLANK)
