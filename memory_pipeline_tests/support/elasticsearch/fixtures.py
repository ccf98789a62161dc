"""One open and one secured server for all tests of a run, and servers of a test's own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from memory_pipeline_tests.support.elasticsearch.distribution import Unavailable, distribution
from memory_pipeline_tests.support.elasticsearch.server import START_SECONDS, ElasticsearchServer, free_port
from memory_pipeline_tests.support.missing import missing

_PROJECT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Secured:
    """A server with security on: its address, and the password of its user ``elastic``."""

    url: str
    password: str


@pytest.fixture(scope="session")
def elasticsearch_home() -> Path:
    """The server's files."""
    try:
        return distribution()
    except Unavailable as error:
        missing(str(error))


@pytest.fixture(scope="session")
def elasticsearch_server(elasticsearch_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a server without security, the same for all tests of the run."""
    return _kept(tmp_path_factory, "open", elasticsearch_home, None)


@pytest.fixture(scope="session")
def secured_elasticsearch(elasticsearch_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Secured:
    """A server with security, the same for all tests of the run."""
    password = _shared_folder(tmp_path_factory) / "password"
    with FileLock(password.with_suffix(".lock")):
        if not password.exists():
            password.write_text(secrets.token_urlsafe(12))
    chosen = password.read_text()
    return Secured(_kept(tmp_path_factory, "secured", elasticsearch_home, chosen), chosen)


@pytest.fixture
def own_elasticsearch(elasticsearch_home: Path) -> Iterator[Callable[..., ElasticsearchServer]]:
    """Starts a server that the test may kill; ``password`` and ``licence`` are the server's."""
    with ExitStack() as stack:

        def start(*, password: str | None = None, licence: str = "trial") -> ElasticsearchServer:
            folder = stack.enter_context(_open_folder())
            place = Path(folder) / "server"
            server = ElasticsearchServer(elasticsearch_home, place, free_port(), password, licence)
            stack.callback(server.stop)
            server.start()
            return server

        yield start


def _open_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder whose parents the server's user may pass."""
    folder = tempfile.TemporaryDirectory(prefix="memory-pipeline-elasticsearch-", ignore_cleanup_errors=True)
    Path(folder.name).chmod(0o755)
    return folder


def _shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Of all workers of this run."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def _run_id() -> int:
    """The process that lives as long as the test run."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def _kept(factory: pytest.TempPathFactory, name: str, home: Path, password: str | None) -> str:
    """The address of the run's server of this name; started by whoever asks first."""
    note = _shared_folder(factory) / f"elasticsearch-{name}"
    with FileLock(note.with_suffix(".lock")):
        if not note.exists():
            folder = Path(tempfile.mkdtemp(prefix="memory-pipeline-elasticsearch-"))
            folder.chmod(0o755)
            command = [sys.executable, "-m", "memory_pipeline_tests.support.elasticsearch.keeper"]
            subprocess.run(
                [*command, str(_run_id()), str(folder), str(home), *([password] if password else [])],
                cwd=_PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            note.write_text(str(folder))
    folder = Path(note.read_text())
    end = time.monotonic() + START_SECONDS + 30
    while time.monotonic() < end:
        if (folder / "port").exists():
            return f"http://127.0.0.1:{(folder / 'port').read_text()}"
        if (folder / "failed").exists() or not folder.exists():
            break
        time.sleep(0.2)
    failed = folder / "failed"
    return missing(failed.read_text() if failed.exists() else "Elasticsearch did not start")
