"""``memory-pipeline models``: the model files for the llama.cpp that is started here."""

from __future__ import annotations

from pathlib import Path

from memory_pipeline.interfaces.terminal import TerminalProgress, out, progress_bars
from memory_pipeline.models.files import pull as pull_files
from memory_pipeline.settings import Settings, load_settings


def pull(*, chat: bool) -> None:
    settings = load_settings()
    with progress_bars() as progress:
        paths = fetch_models(settings, chat=chat, show=progress)
    for path in paths:
        out.print(f"{path} is there", markup=False)


def fetch_models(settings: Settings, *, chat: bool, show: TerminalProgress) -> list[Path]:
    """Fetch what is missing of the pinned models, with a bar; returns their paths."""
    return pull_files(settings, chat=chat, progress=show.fetch)
