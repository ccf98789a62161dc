from __future__ import annotations

import hashlib
import io
import random

import pytest

from memory_pipeline.sessions import blocks, framing
from memory_pipeline.sessions.blocks import BlockReader, ContentHash

Lines = list[tuple[int, int, bytes | None, bool]]


def lines_of(reader: BlockReader) -> Lines:
    found: Lines = []
    for block in reader:
        offset = block.offset
        for number, line in enumerate(block.lines, block.number):
            found.append((number, offset, line, block.complete))
            offset += len(line or b"")
    return found


def read(data: bytes) -> tuple[Lines, str]:
    reader = BlockReader(io.BytesIO(data))
    return lines_of(reader), reader.content.hexdigest()


def content_hash(data: bytes) -> str:
    content = ContentHash()
    content.update(data)
    return content.hexdigest()


def test_lines_end_at_lf_and_nowhere_else() -> None:
    data = "a\u2028b\u2029c\u0085d\x0be\x0cf\rg\nh".encode()
    first = len(data) - 1

    assert read(data)[0] == [(1, 0, data[:first], True), (2, first, b"h", False)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_lines_are_the_same_whatever_is_read_at_a_time(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", size)

    assert read(b"a\n\nbcd\nefghijkl\nm\n")[0] == [
        (1, 0, b"a\n", True), (2, 2, b"\n", True), (3, 3, b"bcd\n", True), (4, 7, b"efghijkl\n", True),
        (5, 16, b"m\n", True),
    ]  # fmt: skip
    assert read(b"")[0] == []
    assert read(b"ab")[0] == [(1, 0, b"ab", False)]


@pytest.mark.parametrize("size", [1, 4])
def test_a_line_longer_than_the_limit_costs_itself_only(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "LONGEST_LINE", 10)
    monkeypatch.setattr(blocks, "BLOCK", size)
    data = b"12345678\n" + b"x" * 35 + b"\n" + b"abc\n" + b"y" * 30

    found, content = read(data)

    assert found == [(1, 0, b"12345678\n", True), (2, 9, None, True), (3, 45, b"abc\n", True), (4, 49, None, False)]
    assert content == content_hash(data[:49]), "complete lines are hashed, the unfinished one is not"


def test_the_content_hash_depends_on_the_bytes_alone() -> None:
    data = random.Random(0).randbytes(3 * blocks.BLOCK + 17)
    digests = b"".join(
        hashlib.sha256(data[at : at + blocks.BLOCK]).digest() for at in range(0, len(data), blocks.BLOCK)
    )

    assert content_hash(data) == hashlib.sha256(digests).hexdigest()
    assert content_hash(b"") == hashlib.sha256(b"").hexdigest()
    for cut in (1, blocks.BLOCK - 1, blocks.BLOCK, 2 * blocks.BLOCK + 5, len(data)):
        parts = ContentHash()
        parts.update(data[:cut])
        resumed = ContentHash(parts.digests)
        resumed.update(data[len(parts.digests) // blocks.DIGEST * blocks.BLOCK : cut])
        assert resumed.rest == parts.rest
        for content in (parts, resumed):
            content.update(data[cut:])
            assert content.hexdigest() == content_hash(data)
