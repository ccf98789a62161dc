"""DAGSTER_HOME: the folder of Dagster's history, and the instance that the command line and the UI share."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError
from yaml import YAMLError

from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.orchestration.event_log import BATCH_EVENTS, BATCH_VARIABLE, EventLog
from memory_pipeline.private import private_folder
from memory_pipeline.settings import Settings

OURS = "# Written by memory-pipeline."


def prepare_home(settings: Settings) -> Path:
    """Make the folder with its dagster.yaml, and point DAGSTER_HOME at it for this process and its children."""
    home = private_folder(settings.dagster_home, variable="DAGSTER_HOME")
    config = home / "dagster.yaml"
    shipped = dagster_yaml() + _event_log(home)
    try:
        current = config.read_text(encoding="utf-8") if config.exists() else OURS
        if current != shipped and current.startswith(OURS):
            partial = config.with_suffix(".partial")
            partial.write_text(shipped, encoding="utf-8")
            partial.replace(config)
    except OSError as error:
        raise InputError(f"{config} can't be written ({error.strerror}); check MEMORY_DATA_DIR.") from None
    os.environ["DAGSTER_HOME"] = str(home)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    os.environ.setdefault(BATCH_VARIABLE, str(BATCH_EVENTS))
    return home


def open_instance(settings: Settings) -> dg.DagsterInstance:
    """The instance whose history `memory-pipeline ui` shows."""
    home = prepare_home(settings)
    try:
        instance = dg.DagsterInstance.get()
        instance.get_runs_count()  # the databases are opened when first asked
    except (SQLAlchemyError, YAMLError, UnicodeDecodeError, OSError, dg.DagsterError) as error:
        reason = str(error).strip().splitlines()[0]
        raise StoreError(
            f"Dagster's history in {home} can't be used ({reason}). Move that folder away: the memories are not in it, "
            "and the next run starts a new history."
        ) from None
    return instance


def dagster_yaml() -> str:
    """The shipped dagster.yaml, the same as the one at the top of the project."""
    return (files("memory_pipeline.orchestration") / "dagster.yaml").read_text()


def _event_log(home: Path) -> str:
    """Our event log, in the place of Dagster's. Not in the shipped file: it has to name the home."""
    kind = f"event_log_storage:\n  module: {EventLog.__module__}\n  class: {EventLog.__name__}\n"
    folder = json.dumps(str(home / "history" / "runs"), ensure_ascii=False)
    return f"\n{kind}  config:\n    base_dir: {folder}\n"


def workspace_yaml(home: Path) -> Path:
    """A workspace file for installations without the project folder; the location's name is that of the project's."""
    path = home / "workspace.yaml"
    module = "{module_name: memory_pipeline.definitions, location_name: memory_pipeline}"
    text = f"load_from:\n  - python_module: {module}\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path
