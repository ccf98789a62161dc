"""``memory-pipeline ui``: ``dagster dev`` on the data that the command line uses."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from dotenv import dotenv_values

from memory_pipeline.errors import InputError
from memory_pipeline.interfaces.examples import on_examples, settings_for
from memory_pipeline.interfaces.terminal import err
from memory_pipeline.orchestration.home import prepare_home, workspace_yaml
from memory_pipeline.stores import open_store

HOST = "127.0.0.1"


def ui(port: int, examples: Path | None) -> None:
    """Replace this process by ``dagster dev``; the sensors and the nightly schedule run as long as it does."""
    settings = settings_for(None, examples)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise InputError(f"Port {port} is in use on this machine; name another one: --port {port + 1}") from None
    open_store(settings).close()  # a store that can't be used is better said here than in every sensor tick
    home = prepare_home(settings)
    err.print(f"Dagster on [bold]http://{HOST}:{port}[/], data in {settings.data_dir}. Ctrl-C ends it.")
    if on_examples(settings):
        _leave_env_file(home)
    dagster = Path(sys.executable).with_name("dagster")
    os.execv(  # noqa: S606  # no shell is wanted
        dagster, [str(dagster), "dev", "-w", str(workspace_yaml(home)), "-h", HOST, "-p", str(port)]
    )


def _leave_env_file(folder: Path) -> None:
    """Go where there is no ``.env``, taking along what it says: Dagster lets it override the environment, and the
    DAGSTER_HOME in it is that of the user's own memories.
    """
    for name, value in dotenv_values(".env").items():
        if value is not None:
            os.environ.setdefault(name, value)
    os.chdir(folder)
