"""llama.cpp started here: one server per process, model file and purpose, on loopback behind a random key.

The server is a child process. Inside ours it would take us along: llama.cpp ends its process where an assertion fails
(an embedding model given as a chat model does that), never returns from stopping while a request is at work, crashes
a process that exits meanwhile, and hangs the exit of a forked child.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, TypeAlias

import psutil

from memory_pipeline.errors import ModelFileError
from memory_pipeline.models.replies import Endpoint

Purpose: TypeAlias = Literal["chat", "embeddings"]

EMBEDDING_TOKENS = 512
"""Tokens of a text that go into its vector; all that MiniLM takes."""
_EMBEDDING_SLOTS = 4  # measured: neither more slots nor larger batches are faster, but both take more memory
_MOST_THREADS = 4
_SLEEPING_THREADS = {"OMP_WAIT_POLICY": "passive"}
"""llama.cpp's threads wait for each other at every step. OpenMP lets them spin meanwhile, so that one without a core
stops all and burns the others': on two cores with eight busy programs a text took 390 ms with two spinning threads,
100 ms with one, 63 to 137 ms with two that sleep; those never cost more time or work than a single one.
"""
_PROGRAM = Path(__file__).with_name("llama_process.py")
_END_SECONDS = 5.0


@dataclass(eq=False)
class _Running:
    process: subprocess.Popen[str]
    log: IO[bytes]
    endpoint: Endpoint
    users: set[EmbeddedServer] = field(default_factory=set)


_Key: TypeAlias = tuple[Path, Purpose, int, int]
_running: dict[_Key, _Running] = {}
_lock = threading.Lock()


class EmbeddedServer:
    """A share in the llama.cpp server for a model file: it starts at first use and ends with its last user.

    ``context`` is in tokens per request; llama.cpp bounds it by what the model was trained with. ``slots`` is how many
    requests it works on at a time. ``remedy`` is what to do where the file is of no use.
    """

    def __init__(
        self, gguf: Path, purpose: Purpose, *, context: int, slots: int = _EMBEDDING_SLOTS, remedy: str
    ) -> None:
        self.name = gguf.stem
        self._gguf = gguf
        self._purpose: Purpose = purpose
        self._context = context
        self._slots = slots
        self._remedy = remedy
        self._key: _Key = (gguf.resolve(), purpose, context, slots)

    def endpoint(self) -> Endpoint:
        """Where the server is: started if need be, and again if it died. Raises ModelFileError."""
        with _lock:
            running = _running.get(self._key)
            if running is None or running.process.poll() is not None:
                replaced = _running.pop(self._key, None)
                running = self._start()
                if replaced is not None:
                    _end(replaced)
                    running.users = replaced.users
                _running[self._key] = running
            running.users.add(self)
            return running.endpoint

    def close(self) -> None:
        """Give up this share; calling it again does nothing."""
        with _lock:
            running = _running.get(self._key)
            if running is None:
                return
            running.users.discard(self)
            if not running.users:
                _end(_running.pop(self._key))

    def _start(self) -> _Running:
        key = secrets.token_urlsafe(32)
        order = {
            "model": str(self._gguf),
            "name": self.name,
            "api_key": key,
            "embeddings": self._purpose == "embeddings",
            "context": self._context,
            "slots": self._slots,
            "threads": min(psutil.cpu_count(logical=False) or 1, _MOST_THREADS),
        }
        running = _launch()
        try:
            address = _give_order(running.process, json.dumps(order))
            if not address:
                running.process.wait()
                raise ModelFileError(
                    f"llama.cpp can't use {self._gguf} for {self._purpose} ({_reason(running)}); {self._remedy}."
                )
            running.endpoint = Endpoint(address, key)
        except BaseException:  # an interrupt while it loads must not leave it behind either
            _end(running)
            raise
        return running


def _launch() -> _Running:
    log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
    process = subprocess.Popen(
        [sys.executable, "-P", str(_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env={**os.environ, **_SLEEPING_THREADS, "GGML_NO_BACKTRACE": "1"},
        start_new_session=True,  # Ctrl-C in the terminal is for us to handle
    )
    return _Running(process, log, Endpoint(""))


def _give_order(process: subprocess.Popen[str], order: str) -> str:
    """The address that the process answers with; empty where it died."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(order + "\n")
        process.stdin.flush()
    return process.stdout.readline().strip()


def _reason(running: _Running) -> str:
    running.log.seek(0)
    log = running.log.read().decode(errors="replace")
    for pattern in (r" E (?:srv +|cmn +)?\S+: (?:error loading model: )?(.+)", r"(GGML_ASSERT.+)", r"^(\w*Error: .+)"):
        if found := re.search(pattern, log, re.MULTILINE):
            return found[1].strip()
    return f"it ended with code {running.process.returncode}"


def _end(running: _Running) -> None:
    process = running.process
    for pipe in (process.stdin, process.stdout):  # the end of its input is what ends the process
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    running.log.close()


@atexit.register
def _end_all() -> None:
    with _lock:
        while _running:
            _end(_running.popitem()[1])


def _leave_to_parent() -> None:
    """In a forked child: the servers are the parent's, and must not outlive it because of our copy of their input."""
    global _lock  # noqa: PLW0603 - it may have been held by a thread that the child does not have
    _lock = threading.Lock()
    for running in _running.values():
        if running.process.stdin is not None:
            running.process.stdin.close()
        running.process.returncode = 0  # no child of ours to wait for
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
