"""Bytes of a session file → lines, a block of them at a time, and the hash of what was read.

Lines end at LF only: U+2028 and the like stand raw inside JSON strings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

from memory_pipeline.sessions import framing

BLOCK = 1 << 20
"""Bytes read, and hashed, at a time."""

DIGEST = 32


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that follow each other, with their LF; all ``complete``, or one that has no LF yet.

    A line longer than LONGEST_LINE comes as None, in a block of its own. ``number`` is of the first line, from 1.
    """

    number: int
    offset: int
    lines: Sequence[bytes | None]
    complete: bool = True


class ContentHash:
    """A hash that can be taken up again where it ended: SHA-256 over those of 1 MiB blocks."""

    def __init__(self, digests: bytes = b"") -> None:
        """``digests`` of the full blocks before what is hashed from here on."""
        self._digests = bytearray(digests)
        self._open = hashlib.sha256()
        self._filled = 0

    @property
    def digests(self) -> bytes:
        """Of the full blocks, one after the other."""
        return bytes(self._digests)

    @property
    def rest(self) -> bytes:
        """The digest of the block that is not full."""
        return self._open.digest()

    def update(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            part = view[: BLOCK - self._filled]
            self._open.update(part)
            self._filled += len(part)
            view = view[len(part) :]
            if self._filled == BLOCK:
                self._digests += self._open.digest()
                self._open, self._filled = hashlib.sha256(), 0

    @classmethod
    def resume(cls, stream: BinaryIO, offset: int, digests: bytes, rest: bytes) -> ContentHash | None:
        """The hash of the stream up to ``offset``, where it had these values; None where it is another by now.

        All of it is hashed again, a block at a time: that takes a small part of the time of reading what it says, and
        nothing less tells whether a line in the middle was changed in place.
        """
        full = len(digests) // DIGEST
        stream.seek(0)
        for block in range(full):
            if hashlib.sha256(stream.read(BLOCK)).digest() != digests[block * DIGEST : (block + 1) * DIGEST]:
                return None
        content = cls(digests)
        content.update(stream.read(offset - full * BLOCK))
        return content if content.rest == rest else None

    def copy(self) -> ContentHash:
        copy = ContentHash(self.digests)
        copy._open, copy._filled = self._open.copy(), self._filled
        return copy

    def hexdigest(self) -> str:
        return hashlib.sha256(self._digests + (self.rest if self._filled else b"")).hexdigest()


class BlockReader:
    """Iterates over the lines of a stream and hashes the complete ones; no more than a block, or a line, in memory."""

    def __init__(
        self, stream: BinaryIO, *, number: int = 1, offset: int = 0, content: ContentHash | None = None
    ) -> None:
        """The stream stands at ``offset``, where line ``number`` begins; ``content`` is the hash of what is before."""
        self.content = content or ContentHash()
        self.number = number
        """Of the line that comes next."""
        self.offset = offset
        """Bytes that were given out as lines."""
        self._stream = stream

    def accept(self, line: bytes) -> None:
        """Count an unfinished last line among the complete ones."""
        self.content.update(line)
        self.number += 1
        self.offset += len(line)

    def __iter__(self) -> Iterator[Block]:
        start = b""  # of a line whose end is not read yet
        while piece := self._stream.read(BLOCK):
            if b"\n" not in piece:
                piece = yield from self._long_line(start + piece)
                start = b""
            lines = BytesIO(piece).readlines()  # several times as fast as splitting
            rest = b"" if piece.endswith(b"\n") or not lines else lines.pop()
            if not lines:
                start = rest
                continue
            lines[0] = start + lines[0]
            block = Block(self.number, self.offset, lines)
            self.content.update(start)
            self.content.update(memoryview(piece)[: len(piece) - len(rest)])
            self.number += len(lines)
            self.offset += len(start) + len(piece) - len(rest)
            start = rest
            yield block
        if start:
            yield Block(self.number, self.offset, [start], complete=False)

    def _long_line(self, start: bytes) -> Generator[Block, None, bytes]:
        """Gives out the line that begins with ``start``; returns what was read of the next one."""
        pieces, length = [start], len(start)
        content = self.content.copy()
        content.update(start)
        complete, behind = False, b""
        while not complete and (piece := self._stream.read(BLOCK)):
            end = piece.find(b"\n") + 1
            if end:
                complete, piece, behind = True, piece[:end], piece[end:]
            content.update(piece)
            length += len(piece)
            if length <= framing.LONGEST_LINE:
                pieces.append(piece)
            else:
                pieces.clear()
        number, offset = self.number, self.offset
        line = b"".join(pieces) or None
        pieces.clear()  # the consumer needs the room for what is in the line
        if complete:
            self.content = content
            self.number += 1
            self.offset += length
        yield Block(number, offset, [line], complete)
        return behind
