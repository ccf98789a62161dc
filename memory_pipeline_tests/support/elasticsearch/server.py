"""Starting, stopping and killing one server, in folders of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from memory_pipeline_tests.support.elasticsearch.distribution import NOBODY, Unavailable

START_SECONDS = 120.0
_RUNTIME = ("-Xms4m", "-Xmx64m", "-XX:+UseSerialGC")
_CONFIG = """
cluster.name: memory-pipeline-tests
discovery.type: single-node
network.host: 127.0.0.1
http.port: {port}
transport.port: {transport}
xpack.security.enabled: {secured}
xpack.license.self_generated.type: {licence}
cluster.routing.allocation.disk.threshold_enabled: false
cluster.info.update.interval: 1h
cluster.max_shards_per_node: 5000
path.data: {folder}/data
path.logs: {folder}/logs
"""
# The server looks at its disks that rarely because it lifts the blocks then that tests set.
_JVM = "-XX:+UseSerialGC\n-Djava.io.tmpdir=${ES_TMPDIR}\n-XX:+ExitOnOutOfMemoryError\n"


@dataclass(slots=True)
class ElasticsearchServer:
    """A server in ``folder`` (of its data, logs and settings), run from the files in ``home``.

    With a ``password`` it is secured, and that is the password of its user ``elastic``. The licence is what it gives
    itself: ``trial`` or ``basic``.
    """

    home: Path
    folder: Path
    port: int
    password: str | None = None
    licence: str = "trial"
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on what its folder holds, and wait until it answers."""
        if not (self.folder / "config").exists():
            self._configure()
        arguments = self._launcher("server", "./bin/elasticsearch", "lib/tools/server-cli")
        with (self.folder / "output.log").open("ab") as log:
            self.process = subprocess.Popen(
                arguments, cwd=self.home, env=self._environment(), stdout=log, stderr=log, start_new_session=True
            )
        self._wait()

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """As a machine that loses power: the launcher and the server at once."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _configure(self) -> None:
        for name in ("data", "logs", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.home / "config", self.folder / "config")
        (self.folder / "config" / "jvm.options").write_text(_JVM)
        settings = _CONFIG.format(
            port=self.port,
            transport=free_port(),
            secured="true" if self.password else "false",
            folder=self.folder,
            licence=self.licence,
        )
        (self.folder / "config" / "elasticsearch.yml").write_text(settings)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        if self.password:
            keystore = self._launcher("keystore", "./bin/elasticsearch-keystore", "lib/tools/keystore-cli")
            self._run([*keystore, "create"], b"")
            self._run([*keystore, "add", "-x", "bootstrap.password"], self.password.encode())

    def _run(self, command: list[str], given: bytes) -> None:
        done = subprocess.run(
            command, cwd=self.home, env=self._environment(), input=given, capture_output=True, check=False
        )
        if done.returncode:
            raise Unavailable(f"Elasticsearch's keystore could not be made: {done.stderr.decode()[-500:]}")

    def _launcher(self, name: str, script: str, libs: str) -> list[str]:
        java = str(Path(os.path.realpath(shutil.which("java") or "java")))
        dropped = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        return [
            *dropped, java, *_RUNTIME,
            f"-Dcli.name={name}", f"-Dcli.script={script}", f"-Dcli.libs={libs}",
            f"-Des.path.home={self.home}", f"-Des.path.conf={self.folder / 'config'}", "-Des.distribution.type=tar",
            "-cp", f"{self.home}/lib/*:{self.home}/lib/cli-launcher/*",
            "org.elasticsearch.launcher.CliToolLauncher",
        ]  # fmt: skip

    def _environment(self) -> dict[str, str]:
        java = Path(os.path.realpath(shutil.which("java") or "java")).parents[1]
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ES_JAVA_HOME": str(java),
            "ES_JAVA_OPTS": "-Xms512m -Xmx512m",
            "ES_TMPDIR": str(self.folder / "tmp"),
        }

    def _wait(self) -> None:
        assert self.process is not None
        end = time.monotonic() + START_SECONDS
        user = ("elastic", self.password) if self.password else None
        with httpx.Client(auth=user) as client:
            while time.monotonic() < end and self.process.poll() is None:
                try:
                    if client.get(self.url).status_code == 200:
                        return
                except httpx.HTTPError:
                    pass
                time.sleep(0.3)
        log = (self.folder / "output.log").read_text(errors="replace")[-2_000:]
        raise Unavailable(f"Elasticsearch did not start within {START_SECONDS:.0f} s: {log}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
