"""Which sessions and which data a command works on: the user's, or the examples for those who have none yet.

The memories of the examples lie in a data folder beside the user's, never among them. What is chosen goes into the
environment, because Dagster's resources and processes read their settings there.
"""

from __future__ import annotations

import os
from pathlib import Path

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.interfaces.terminal import err
from memory_pipeline.private import private_folder
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import store_exists

_SUFFIX = "-examples"
_FOLDER = "sessions-folder"
"""File in the examples' data folder that says where their sessions are, for later commands."""


def settings_for(sessions: Path | None, examples: Path | None) -> Settings:
    """The settings of a run: on ``sessions`` if given; on ``examples`` if given and the user has no sessions."""
    settings = load_settings()
    if sessions is not None:
        os.environ["MEMORY_SESSIONS_DIR"] = str(sessions.absolute())
        return load_settings()
    if examples is None or store_exists(settings) or _has_sessions(settings):
        return settings
    settings = use_examples()
    (private_folder(settings.data_dir) / _FOLDER).write_text(str(examples.absolute()), encoding="utf-8")
    settings = use_examples()
    err.print(
        f"There are no pi sessions on this machine yet, so these are the [bold]examples[/] in {examples}, "
        f"with memories of their own in {settings.data_dir}."
    )
    return settings


def use_examples() -> Settings:
    """Turn this command to the memories of the examples; the model files stay where the user's are."""
    settings = load_settings()
    data = settings.data_dir
    if not on_examples(settings):
        data = data.with_name(data.name + _SUFFIX)
    os.environ["MEMORY_DATA_DIR"] = str(data)
    os.environ["MEMORY_MODELS_DIR"] = str(settings.models_dir)
    os.environ["DAGSTER_HOME"] = str(data / "dagster")
    folder = data / _FOLDER
    if folder.is_file():
        os.environ["MEMORY_SESSIONS_DIR"] = folder.read_text(encoding="utf-8")
    return load_settings()


def has_examples(settings: Settings) -> bool:
    """Whether the examples' sessions are known, because a run was on them."""
    return (settings.data_dir / _FOLDER).is_file()


def on_examples(settings: Settings) -> bool:
    """Whether these are the settings of the examples."""
    return settings.data_dir.name.endswith(_SUFFIX)


def _has_sessions(settings: Settings) -> bool:
    try:
        return bool(Catalog(settings).discovery.files)
    except InputError:
        return settings.sessions_dir is not None  # a folder that was named is to be complained about, not replaced
