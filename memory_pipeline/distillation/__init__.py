"""Turns into memories: by a chat model, or by extraction where there is none."""

from __future__ import annotations

from collections.abc import Callable

from memory_pipeline.distillation.contract import DistillationEngine, Draft, Mention, Outcome, SessionDistiller
from memory_pipeline.distillation.extractive import ExtractiveEngine
from memory_pipeline.distillation.llm import LlmEngine
from memory_pipeline.distillation.said import is_own_session
from memory_pipeline.distillation.summaries import known_fingerprint, to_summary, turn_fingerprint
from memory_pipeline.models.contract import ChatModel
from memory_pipeline.settings import Settings

__all__ = [
    "DistillationEngine",
    "Draft",
    "ExtractiveEngine",
    "LlmEngine",
    "Mention",
    "Outcome",
    "SessionDistiller",
    "is_own_session",
    "known_fingerprint",
    "open_engine",
    "to_summary",
    "turn_fingerprint",
]


def open_engine(settings: Settings, chat: Callable[[], ChatModel]) -> DistillationEngine:
    """The engine that the settings ask for; ``chat`` is called when a model is first needed, if at all.

    The engine closes the chat model that it opened.
    """
    if settings.distiller_kind == "llm":
        return LlmEngine(chat, parallel=settings.llama_parallel, recalled_blocks=settings.recalled_blocks)
    return ExtractiveEngine()
