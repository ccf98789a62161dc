"""Outlines on disk, so that a file that only grew is read on from where it ended.

They hold none of the file's text: names, titles and folders are read again from their places in it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import orjson

from memory_pipeline.errors import InputError
from memory_pipeline.private import private_folder
from memory_pipeline.sessions.blocks import BLOCK, DIGEST, BlockReader, ContentHash
from memory_pipeline.sessions.entries import ROW, Rows, Texts
from memory_pipeline.sessions.reading import READER_VERSION
from memory_pipeline.sessions.state import Place, State

if TYPE_CHECKING:
    from memory_pipeline.sessions.outline import Outline

_FORMAT = f"memory-pipeline outline 2 of reader {READER_VERSION}\n".encode()
_WORTH_SAVING = 8 << 20
"""Bytes of a session file under which it is read again as fast."""
_LARGEST = 512 << 20

_PLAIN = (
    "problem_count", "header_time", "last_time", "taken", "foreign", "unknown", "plain", "timed_by_file",
)  # fmt: skip
_PLACES = ("header", "title", "name")


@dataclass(frozen=True, slots=True)
class SavedOutline:
    """What is known of a file up to ``offset``, where a line begins, and by what that part of it is known again."""

    lines: int
    offset: int
    digests: bytes
    """Of the full blocks before ``offset``; ``rest`` is that of the bytes behind them."""
    rest: bytes
    state: State

    @classmethod
    def of(cls, reader: BlockReader, state: State) -> SavedOutline | None:
        """None where the state holds what another reading would find changed."""
        if state.timed_by_file:
            return None
        return cls(reader.number - 1, reader.offset, reader.content.digests, reader.content.rest, state)

    @property
    def rows(self) -> Rows:
        return np.frombuffer(self.state.rows, ROW)

    @property
    def content_sha256(self) -> str:
        """That of the outline which this was saved of."""
        filled = self.offset > len(self.digests) // DIGEST * BLOCK
        return hashlib.sha256(self.digests + (self.rest if filled else b"")).hexdigest()

    def content_if_unchanged(self, stream: BinaryIO) -> ContentHash | None:
        """The hash of the file up to ``offset``; None where it is no longer what it was there."""
        return ContentHash.resume(stream, self.offset, self.digests, self.rest)

    def to_bytes(self) -> bytes | None:
        """None where an id or a kind is not of pi's own making: it may be anything, a secret too."""
        state = self.state
        if not state.plain:
            return None
        texts = state.texts
        parts = (state.rows, texts.owners.tobytes(), texts.ends.tobytes(), texts.blob, self.digests)
        head = {
            "guards": [self.lines, self.offset, self.rest.hex()],
            "kinds": state.kinds,
            "problems": state.problems,
            "lengths": [len(part) for part in parts],
            **{name: getattr(state, name) for name in _PLAIN},
            **{name: list(getattr(state, name) or ()) for name in _PLACES},
        }
        payload = (orjson.dumps(head), b"\n", *parts)
        checksum = hashlib.sha256()
        for part in payload:
            checksum.update(part)
        return b"".join([_FORMAT, checksum.digest(), *payload])

    @classmethod
    def from_bytes(cls, data: bytes) -> SavedOutline | None:
        """None for anything that ``to_bytes`` of this version did not write."""
        start = len(_FORMAT) + DIGEST
        view = memoryview(data)
        if not data.startswith(_FORMAT) or hashlib.sha256(view[start:]).digest() != data[len(_FORMAT) : start]:
            return None
        end = data.index(b"\n", start)  # from here on the checksum vouches for all
        head: dict[str, Any] = orjson.loads(data[start:end])
        parts: list[memoryview] = []
        position = end + 1
        for length in head["lengths"]:
            parts.append(view[position : position + length])
            position += length
        rows, owners, ends, blob, digests = parts
        lines, offset, rest = head["guards"]
        state = State(
            rows=bytearray(rows),
            kinds=[(name, role) for name, role in head["kinds"]],
            texts=Texts(array("Q", bytes(owners)), array("Q", bytes(ends)), bytearray(blob)),
            problems=[(line, reason) for line, reason in head["problems"]],
        )
        for name in _PLAIN:
            setattr(state, name, head[name])
        for name in _PLACES:
            setattr(state, name, Place(*head[name]) if head[name] else None)
        return cls(lines, offset, bytes(digests), bytes.fromhex(rest), state)


def load_outline(folder: Path, session_id: str) -> SavedOutline | None:
    """The outline that was saved of the session; None where there is none, or none that can be used."""
    path = _path(folder, session_id)
    try:
        with path.open("rb") as stream:
            return SavedOutline.from_bytes(stream.read()) if os.fstat(stream.fileno()).st_size <= _LARGEST else None
    except OSError:
        return None


def save_outline(folder: Path, session_id: str, outline: Outline) -> bool:
    """Keep the outline for the next time, for this user alone; whether that was possible and worth it.

    What was saved before stays where it was not: it still holds for the part of the file that it is of.
    """
    saved = outline.saved
    if saved is None or saved.offset < _WORTH_SAVING or len(saved.state.rows) > _LARGEST // 2:
        return False
    data = saved.to_bytes()
    if data is None:
        return False
    try:
        private_folder(folder)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".bin")  # readable by its owner alone
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(name, _path(folder, session_id))  # noqa: PTH105
        except OSError:
            with suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise
    except (OSError, InputError):
        return False
    return True


def _path(folder: Path, session_id: str) -> Path:
    return folder / f"{session_id}.bin"
