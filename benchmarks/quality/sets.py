"""The labelled sets that are measured on: an evaluation set as it is, harder copies of it, and a real session."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.labels import Labels, read_labels
from memory_pipeline.sessions import session_file
from memory_pipeline.settings import load_settings

PADDING = (4, 10)
"""Routine sentences mixed into each final message of a harder copy."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Session files below ``sessions``, with labels; ``answers``: what a capable model said of each turn, if known."""

    name: str
    sessions: Path
    labels: Labels
    answers: Path | None = None


def unpacked(evalset: Path, folder: Path) -> LabelledSet:
    """The set as people have it: its planted secrets in place where its own script does that."""
    script = evalset / "unpack.py"
    if script.is_file():
        _run(script, folder)
    else:
        shutil.copytree(evalset, folder, dirs_exist_ok=True)
    return _read("plain", folder)


def padded(evalset: Path, original: Path, count: int, folder: Path) -> LabelledSet | None:
    """A harder copy of the unpacked set, by the set's own script; None where it has none."""
    script = evalset / "pad.py"
    if not script.is_file():
        return None
    _run(script, original, folder, str(count))
    return _read(f"padded, K = {count}", folder)


def real_session(file: Path, folder: Path) -> LabelledSet | None:
    """A real session with its labels beside it, alone in a sessions folder; None where there is none."""
    labels = file.with_suffix(".labels.json")
    if not (file.is_file() and labels.is_file()):
        return None
    project = folder / "sessions" / "--real--"
    project.mkdir(parents=True)
    copied = project / file.name
    shutil.copy(file, copied)
    session = session_file(copied, load_settings(env_file=None, sessions_dir=folder / "sessions"))
    return LabelledSet("real", folder / "sessions", read_labels(labels, session.session_id))


def hash_of(files: Iterable[Path]) -> str:
    """SHA-256 of the files' names and contents, its first 16 digits."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16]


def data_files(evalset: Path, real: Path) -> list[Path]:
    """What the numbers depend on, in a stable order."""
    own = [*sorted((evalset / "sessions").rglob("*.jsonl")), evalset / "labels.json", evalset / "answers.jsonl"]
    return [file for file in (*own, real, real.with_suffix(".labels.json")) if file.is_file()]


def _read(name: str, folder: Path) -> LabelledSet:
    answers = folder / "answers.jsonl"
    labels = read_labels(folder / "labels.json")
    return LabelledSet(name, folder / "sessions", labels, answers if answers.is_file() else None)


def _run(script: Path, *arguments: object) -> None:
    subprocess.run([sys.executable, script, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
