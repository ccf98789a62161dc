"""Chat and embedding models: OpenAI-compatible servers, or llama.cpp started here with a model file.

The other rooms open a model here and know it by ``contract`` only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from memory_pipeline.errors import SettingsError
from memory_pipeline.models.chat import ChatClient
from memory_pipeline.models.connection import Connection, endpoint_at, same_origin
from memory_pipeline.models.contract import ChatModel, Embedder
from memory_pipeline.models.discovery import ServerInfo, choose_model, probe_server, same_model
from memory_pipeline.models.embedded import EMBEDDING_TOKENS, EmbeddedServer
from memory_pipeline.models.embedding import EmbeddingClient
from memory_pipeline.models.installed import chat_gguf, embedding_gguf
from memory_pipeline.models.replies import Endpoint
from memory_pipeline.settings import Settings

__all__ = ["ServerInfo", "open_chat", "open_embedder", "probe_server", "same_model"]

_EMBEDDED_CHAT_TOKENS = 8192


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name. Its server is asked, or started, at first need.

    Raises SettingsError where a variable is missing or wrong, and ModelFileError where there is no model file.
    """
    if settings.embeddings == "embedded":
        remedy = "run `memory-pipeline models pull`, or name another file in MEMORY_EMBEDDINGS_GGUF"
        server = EmbeddedServer(embedding_gguf(settings), "embeddings", context=EMBEDDING_TOKENS, remedy=remedy)
        connection = Connection(server.endpoint, seconds=settings.llama_timeout, on_close=server.close)
        return EmbeddingClient(connection, lambda: server.name, dimensions=settings.embeddings_dims)
    endpoint = _embedding_endpoint(settings)
    connection = Connection(lambda: endpoint, seconds=settings.llama_timeout)
    find_model = partial(choose_model, connection, settings.embeddings_model, variable="MEMORY_EMBEDDINGS_MODEL")
    return EmbeddingClient(connection, find_model, dimensions=settings.embeddings_dims)


def open_chat(settings: Settings) -> ChatModel:
    """The chat model at LLAMA_URL, else llama.cpp with the chat model file. Asked, or started, at first need.

    Raises SettingsError where a variable is wrong, and ModelFileError where there is neither server nor model file.
    """
    if settings.llama_url is None:
        context = settings.llama_context or _EMBEDDED_CHAT_TOKENS
        remedy = "name a chat model's GGUF file in MEMORY_CHAT_GGUF, or a server in LLAMA_URL"
        server = EmbeddedServer(
            chat_gguf(settings), "chat", context=context, slots=settings.llama_parallel, remedy=remedy
        )
        connection = Connection(
            server.endpoint, seconds=settings.llama_timeout, at_once=settings.llama_parallel, on_close=server.close
        )
        return ChatClient(connection, lambda: server.name)
    endpoint = endpoint_at(settings.llama_url, _key(settings), variable="LLAMA_URL")
    connection = Connection(lambda: endpoint, seconds=settings.llama_timeout, at_once=settings.llama_parallel)
    find_model = partial(choose_model, connection, settings.llama_model, variable="LLAMA_MODEL")
    return ChatClient(connection, find_model, context=settings.llama_context)


def _embedding_endpoint(settings: Settings) -> Endpoint:
    chat = None
    if settings.llama_url is not None:
        chat = endpoint_at(settings.llama_url, _key(settings), variable="LLAMA_URL")
    if settings.embeddings_url is None:
        if chat is None:
            raise SettingsError(
                "MEMORY_EMBEDDINGS: is llama, but no server is named; set MEMORY_EMBEDDINGS_URL or LLAMA_URL."
            )
        return chat
    own = endpoint_at(
        settings.embeddings_url,
        None,
        variable="MEMORY_EMBEDDINGS_URL",
        key_remedy="LLAMA_API_KEY is sent to the server of LLAMA_URL only",
    )
    # The key is the chat server's and no business of another one.
    return replace(own, api_key=chat.api_key) if chat is not None and same_origin(own.url, chat.url) else own


def _key(settings: Settings) -> str | None:
    return None if settings.llama_api_key is None else settings.llama_api_key.get_secret_value()
