"""The store for what outgrows one machine, and for teams: an Elasticsearch cluster of any kind."""

from memory_pipeline.stores.elasticsearch.connection import Server, connect
from memory_pipeline.stores.elasticsearch.inference import InferenceEmbedder
from memory_pipeline.stores.elasticsearch.semantic import SemanticStore
from memory_pipeline.stores.elasticsearch.store import ElasticsearchStore

__all__ = ["ElasticsearchStore", "InferenceEmbedder", "SemanticStore", "open_elasticsearch", "open_inference"]


def open_elasticsearch(
    url: str, api_key: str | None, *, prefix: str = "memory", inference_id: str | None = None
) -> ElasticsearchStore:
    """The store at this address; nothing is asked of the server yet.

    With ``inference_id`` the cluster makes the vectors, by that endpoint.
    """
    server = Server(connect(url, api_key), url)
    if inference_id is None:
        return ElasticsearchStore(server, prefix=prefix)
    return SemanticStore(server, inference_id, prefix=prefix)


def open_inference(url: str, api_key: str | None, inference_id: str) -> InferenceEmbedder:
    """The cluster's inference endpoint as an embedder; nothing is asked of the server yet."""
    return InferenceEmbedder(Server(connect(url, api_key), url), inference_id)
