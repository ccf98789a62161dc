"""``memory-pipeline models``: the files of the models that run in-process."""

from __future__ import annotations

from memory_pipeline.interfaces.terminal import out
from memory_pipeline.models.files import pull as pull_files
from memory_pipeline.settings import load_settings


def pull(*, chat: bool) -> None:
    settings = load_settings()
    for path in pull_files(settings, chat=chat):
        out.print(f"{path}", markup=False)
