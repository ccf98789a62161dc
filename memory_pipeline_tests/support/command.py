"""The real command line in a process and a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class CommandLine:
    """Runs ``memory-pipeline`` as a user would; nothing of the real user's settings reaches it."""

    home: Path
    models: Path | None = None
    rules: Path | None = None
    """Folder of compiled redaction rules to start with: compiling them anew takes seconds."""
    env: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "memory-pipeline"

    @property
    def sessions(self) -> Path:
        return self.home / ".pi" / "agent" / "sessions"

    def environment(self) -> dict[str, str]:
        kept = {
            name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "PIP_CERT") if name in os.environ
        }
        models = {"MEMORY_MODELS_DIR": str(self.models)} if self.models else {}
        return {**kept, "HOME": str(self.home), "COLUMNS": "200", **models, **self.env}

    def start(self, *arguments: str, log: Path | None = None) -> subprocess.Popen[str]:
        """Start a command; its output goes to pipes, or to ``log`` where nobody reads it while it runs."""
        self.home.mkdir(parents=True, exist_ok=True)
        compiled = self.data / "redaction"
        if self.rules is not None and not compiled.exists():
            shutil.copytree(self.rules, compiled)
            self.data.chmod(0o700)
        with ExitStack() as stack:
            out = subprocess.PIPE if log is None else stack.enter_context(log.open("w"))
            return subprocess.Popen(
                [sys.executable, "-m", "memory_pipeline.interfaces.cli", *arguments],
                env=self.environment(),
                cwd=self.home,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE if log is None else subprocess.STDOUT,
                process_group=0,  # as a shell does: Ctrl-C goes to the command and all that it has started
            )

    def __call__(self, *arguments: str, code: int = 0, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """Run a command to its end and check its exit code."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=timeout)
        assert process.returncode == code, f"{arguments} ended with {process.returncode}\n{out}\n{err}"
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(list(arguments), process.returncode, out, err)

    def status(self) -> dict[str, Any]:
        """``status --json`` without the bookkeeping of runs."""
        found: dict[str, Any] = json.loads(self("status", "--json").stdout)
        found.pop("runs")
        return found

    def export(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self("export", *arguments).stdout.splitlines()]
