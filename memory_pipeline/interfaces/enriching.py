"""The models' part of ``memory-pipeline run``: what is distilled and embedded when, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Self

from memory_pipeline.documents import Summary, Turn
from memory_pipeline.embedders import open_embedder
from memory_pipeline.errors import EmbeddingMismatch, MemoryPipelineError
from memory_pipeline.ingestion.planning import waiting_sessions
from memory_pipeline.ingestion.progress import Budget
from memory_pipeline.interfaces.models import fetch_models
from memory_pipeline.interfaces.run_request import RunRequest, to_redo
from memory_pipeline.interfaces.terminal import TerminalProgress, TerminalReporter, command_name, without_credentials
from memory_pipeline.models import open_chat
from memory_pipeline.models.ahead import EmbedsAhead
from memory_pipeline.settings import Settings
from memory_pipeline.stores import open_store


class Enriching:
    """Keeps the models that one run needs, from the first use to the end: each Dagster run would start them anew."""

    def __init__(
        self, request: RunRequest, settings: Settings, reporter: TerminalReporter, progress: TerminalProgress
    ) -> None:
        self._request = request
        self._settings = settings
        self._reporter = reporter
        self._progress = progress
        self._embedder: EmbedsAhead | None = None
        self._is_unusable = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def goes_beside(self) -> bool:
        """Whether turns are distilled while others are indexed: where that takes milliseconds, so that vectors can be
        made meanwhile. A limited run takes the newest first, so it has to know them all.
        """
        return self._embeds_ahead and self._request.limit is None

    @property
    def _embeds_ahead(self) -> bool:
        # A chat model may need all that the embedder would take, and Elasticsearch embeds by itself.
        return self._settings.distiller_kind == "extractive" and self._settings.embeddings != "elasticsearch"

    def begins(self, session_ids: Sequence[str]) -> bool:
        """Whether sessions that were just indexed can be distilled at once: they have new turns, and an embedder."""
        if self._is_unusable:
            return False
        with open_store(self._settings) as store:
            due = store.count(Turn, {"session_id": session_ids, "distillation.state": "pending", "copy_of": None})
        if not due:
            return False
        try:
            self._reporter.embeds_ahead = self._open_embedder()
        except MemoryPipelineError:
            self._is_unusable = True  # tried again, and told, when all is indexed
            return False
        self._progress.expect("distil", due)
        return True

    def rest(self, budget: Budget) -> list[str]:
        """Distil and embed what waits, newest first; returns what ended it early."""
        with open_store(self._settings) as store:
            redo = to_redo(self._request, self._settings, store)
            waiting = waiting_sessions(store, redo=redo)
        budget.redo = frozenset(redo)
        if not waiting.sessions or budget.spent:
            return []
        from memory_pipeline.orchestration.local_run import RUN_SECONDS, run_enrich  # noqa: PLC0415

        due = waiting.turns if budget.turns is None else min(waiting.turns, budget.turns)
        if due:
            self._progress.say(
                f"Everything indexed is searchable by keyword now. {due} turns are distilled next, newest first. "
                "Ctrl-C any time, the next run goes on."
            )
        self._progress.expect("distil", due)
        self._progress.expect("embed", waiting.vectors)
        budget.seconds = RUN_SECONDS

        def sessions(fresh_only: bool) -> tuple[str, ...]:
            with open_store(self._settings) as store:
                left = {turn: session for turn, session in redo.items() if turn not in budget.tried}
                return waiting_sessions(store, redo=left, fresh_only=fresh_only).sessions

        embedder = self._open_embedder()
        if self._embeds_ahead:
            self._reporter.embeds_ahead = embedder
        if self._settings.distiller_kind == "llm" and waiting.turns:
            self._open_chat()
        return run_enrich(self._settings, sessions, self._reporter, budget, self._progress.say).failures

    def _open_embedder(self) -> EmbedsAhead:
        """Ask for its name before the work starts, so that a wrong one or a dead server costs no time."""
        if self._embedder is not None:
            return self._embedder
        if self._settings.embeddings == "embedded" and self._settings.embeddings_gguf is None:
            fetch_models(self._settings, chat=False, show=self._progress)
        with open_store(self._settings) as store:
            held = store.embedding_model(Summary)
        embedder = self._stack.enter_context(closing(EmbedsAhead(open_embedder(self._settings))))
        if held is not None and held[0] != embedder.model:
            raise EmbeddingMismatch(
                f"The memories' vectors were made with {held[0]} ({held[1]} dimensions), but the settings name "
                f"{embedder.model}. Set the embedding model back, or make all vectors anew: "
                f"{command_name()} run --reembed"
            )
        if self._settings.embeddings == "embedded":
            _ = embedder.dimensions  # starts it
        self._embedder = embedder
        return embedder

    def _open_chat(self) -> None:
        chat = self._stack.enter_context(closing(open_chat(self._settings)))
        url = self._settings.llama_url
        where = without_credentials(url) if url else "llama.cpp started by this command"
        self._progress.say(f"Distilling with {chat.model} at {where}, a context of {chat.context_tokens} tokens.")
