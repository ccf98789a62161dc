"""The embedder that the settings name: a model of ours, or the store's own."""

from __future__ import annotations

from memory_pipeline import models
from memory_pipeline.models.contract import Embedder
from memory_pipeline.settings import Settings
from memory_pipeline.stores import open_inference_embedder


def open_embedder(settings: Settings) -> Embedder:
    """What makes a query's vector, and those of memories unless the store makes them; asked, or started, at first need.

    Raises SettingsError where a variable is missing or wrong, and ModelFileError where there is no model file.
    """
    if settings.embeddings == "elasticsearch":
        return open_inference_embedder(settings)
    return models.open_embedder(settings)
