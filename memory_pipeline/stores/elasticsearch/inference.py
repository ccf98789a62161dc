"""Inference endpoints of a cluster: asking one for a query's vector, and registering one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from elasticsearch import ApiError, NotFoundError

from memory_pipeline.batches import batched
from memory_pipeline.errors import ModelAnswerError, ModelRefused, StoreError
from memory_pipeline.stores.elasticsearch.connection import Server
from memory_pipeline.stores.elasticsearch.sentences import NotEmbedded, status_behind
from memory_pipeline.vectors import BLANK, of_unit_length

Service: TypeAlias = Literal["jinaai", "elastic", "openai"]

_BATCH = 64
_TOLD_APART = frozenset({"elastic", "jinaai", "cohere", "voyageai", "googlevertexai"})
"""Services that are told whether a text is stored or searched for; others refuse to be told."""
_JSON = {"accept": "application/json", "content-type": "application/json"}
DEFAULT_MODELS: Mapping[Service, str] = {
    "jinaai": "jina-embeddings-v5-text-small-clustering",
    "elastic": "jina-embeddings-v5-text-small",
}


class InferenceEmbedder:
    """An Embedder that asks an inference endpoint of the cluster; for queries, as documents are embedded there."""

    def __init__(self, server: Server, inference_id: str) -> None:
        self._server = server
        self._inference_id = inference_id

    @cached_property
    def _endpoint(self) -> Mapping[str, Any]:
        found = _endpoint(self._server, self._inference_id)
        if found is None:
            raise NotEmbedded(404, self._inference_id, is_missing=True).as_error(self._server.place)
        if found["task_type"] != "text_embedding":
            raise ModelRefused(
                f"The inference endpoint {self._inference_id} at {self._server.place} is for {found['task_type']}; "
                "name one for text_embedding in ES_INFERENCE_ID."
            )
        return found

    def check(self) -> None:
        """Raises ModelRefused where there is no such endpoint."""
        _ = self._endpoint

    @property
    def model(self) -> str:
        return str(self._endpoint["service_settings"].get("model_id") or self._inference_id)

    @cached_property
    def dimensions(self) -> int:
        told = self._endpoint["service_settings"].get("dimensions")
        return int(told) if told else len(self._embed([BLANK])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of queries, of unit length."""
        return [vector for batch in batched(texts, _BATCH) for vector in self._embed(batch)]

    def close(self) -> None:
        self._server.close()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, Any] = {"input": [text.strip() or BLANK for text in texts]}
        if self._endpoint["service"] in _TOLD_APART:
            body["input_type"] = "search"
        answer = self._server(lambda: self._post(body))
        try:
            vectors = [of_unit_length(entry["embedding"]) for entry in answer["text_embedding"]]
        except (LookupError, TypeError, ValueError):
            vectors = []
        if len(vectors) != len(texts):
            raise ModelAnswerError(
                f"The inference endpoint {self._inference_id} at {self._server.place} sent something that is no "
                "embedding."
            )
        return vectors

    def _post(self, body: Mapping[str, Any]) -> Any:
        # The client's own method does not know input_type yet.
        path = f"/_inference/text_embedding/{quote(self._inference_id, safe='')}"
        try:
            return self._server.client.perform_request("POST", path, headers=_JSON, body=dict(body)).body
        except ApiError as error:
            if error.error == "security_exception":  # about the key of the cluster, not of the service
                raise
            status = status_behind(str(error.body), error.status_code)
            failed = NotEmbedded(status, self._inference_id, is_missing=error.status_code == 404)
            raise failed.as_error(self._server.place) from None


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """What to ask for: an endpoint of this name that calls this service."""

    inference_id: str
    service: Service
    model: str
    url: str | None = None
    dimensions: int | None = None

    def body(self, key: str | None) -> dict[str, Any]:
        """Of ``PUT /_inference/text_embedding/{inference_id}``; ``key`` is the service's."""
        settings: dict[str, Any] = {"model_id": self.model}
        if self.service != "elastic":
            settings["api_key"] = key or "none"
            settings["similarity"] = "cosine"
        if self.url is not None:
            settings["url"] = self.url if self.url.endswith("/embeddings") else f"{self._base}/v1/embeddings"
        if self.dimensions is not None:
            settings["dimensions"] = self.dimensions
        return {"service": self.service, "service_settings": settings}

    def as_console(self) -> str:
        """As one pastes it into Kibana's Dev Tools, with a place for the key."""
        body = json.dumps(self.body("<key of the service>"), indent=2)
        return f"PUT /_inference/text_embedding/{self.inference_id}\n{body}"

    @property
    def _base(self) -> str:
        assert self.url is not None
        return self.url.rstrip("/").removesuffix("/v1")


def register(server: Server, request: EndpointRequest, key: str | None) -> int | None:
    """Make the endpoint; Elasticsearch asks the service for one vector. Returns the vectors' length, where it is told.

    Nothing is changed where there is one of the same model; StoreError where it is of another.
    """
    there = _endpoint(server, request.inference_id)
    if there is None:
        made = server(lambda: _put(server, request, key))
        return _length(made)
    wanted = request.body(key)["service_settings"]
    settings = there["service_settings"]
    same = there["service"] == request.service and all(
        settings.get(name) == wanted[name] for name in ("model_id", "url") if name in wanted
    )
    if not same:
        raise StoreError(
            f"There is an inference endpoint {request.inference_id} at {server.place} already, of {there['service']} "
            f"and {settings.get('model_id')}; name another one in ES_INFERENCE_ID."
        )
    return _length(there)


def _put(server: Server, request: EndpointRequest, key: str | None) -> Mapping[str, Any]:
    try:
        made: dict[str, Any] = server.client.inference.put(
            task_type="text_embedding", inference_id=request.inference_id, inference_config=request.body(key)
        ).body
    except ApiError as error:
        if error.status_code == 403 and "non-compliant" not in str(error.body):
            raise StoreError(
                f"Making an inference endpoint at {server.place} needs the right manage_inference: set ES_ADMIN to the "
                "user:password of somebody who has it, or paste what this command prints where ES_URL is not set."
            ) from None
        if error.status_code != 400:
            raise
        where = f" at {request.url}" if request.url else ""
        raise StoreError(
            f"Elasticsearch at {server.place} could not embed a text with {request.service}{where} and "
            f"{request.model}; see that the service can be reached from the cluster, its key and its model."
        ) from None
    return made


def _endpoint(server: Server, inference_id: str) -> Mapping[str, Any] | None:
    def ask() -> Mapping[str, Any] | None:
        try:
            [found] = server.client.inference.get(inference_id=inference_id)["endpoints"]
        except NotFoundError:
            return None
        endpoint: Mapping[str, Any] = found
        return endpoint

    return server(ask)


def _length(endpoint: Mapping[str, Any]) -> int | None:
    told = endpoint["service_settings"].get("dimensions")
    return None if told is None else int(told)
