"""Whatever is wrong with a file, each record that is whole comes out once and in order, and the rest is named.

``make fuzz`` reads 10,000 more of these files; ``SEED=n`` gives the ones of a seed again.
"""

from __future__ import annotations

import contextlib
import random
from itertools import islice
from pathlib import Path

import pytest

from memory_pipeline.errors import NotASession
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import SavedOutline, SessionFile, outline
from memory_pipeline_tests.sessions.broken import Reading, broken_file, complaints
from memory_pipeline_tests.sessions.faults import FAULTS, TAILS
from memory_pipeline_tests.sessions.fuzz import SEED, Reader, failures, our_reader, told
from memory_pipeline_tests.sessions.logs import write_bytes

FILES, A_TIME = 500, 125


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", range(SEED, SEED + FILES, A_TIME))
def test_every_broken_file_is_read_as_far_as_it_is_whole(first: int, tmp_path: Path, redactor: Redactor) -> None:
    bad = list(failures(our_reader(redactor), range(first, first + A_TIME), tmp_path))

    assert not bad, "\n".join(told(broken, wrong) for broken, wrong in bad)


def test_a_seed_gives_the_same_file_again_and_every_fault_comes_up() -> None:
    files = [broken_file(seed) for seed in range(FILES)]

    assert files[7] == broken_file(7)
    done = {fault for broken in files for fault in broken.faults}
    assert done == {fault.__name__.strip("_") for fault in (*FAULTS, *TAILS)}
    assert sum(len(broken.faults) > 2 for broken in files) > FILES / 2
    assert all(broken.messages for broken in files)


@pytest.mark.parametrize("first", range(SEED, SEED + 200, 100))
def test_a_broken_file_that_grows_comes_to_the_same_as_one_read_at_once(first: int, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    resumed = 0
    for seed in range(first, first + 100):
        broken = broken_file(seed)
        chance = random.Random(seed)
        write_bytes(path, b"")
        saved: SavedOutline | None = None
        for end in sorted(chance.choices(range(1, len(broken.data)), k=3)):
            with contextlib.suppress(NotASession):
                saved = outline(_grown(path, broken.data[:end]), saved).saved
        grown = outline(_grown(path, broken.data), saved)
        whole = outline(_grown(path, broken.data))
        assert grown == whole, told(broken, ["the grown file reads otherwise"])
        resumed += grown.resumed_at > 0
    assert resumed > 50


def _grown(path: Path, data: bytes) -> SessionFile:
    """The file with what is new in it at its end, as an append leaves it."""
    with path.open("ab") as stream:
        stream.write(data[stream.tell() :])
    return SessionFile(path, "s", len(data), 1_767_225_600_000_000_000)


def with_splitlines(good: Reader) -> Reader:
    """A bad reader: it takes every sign that Python calls a line break for the end of a line."""

    def reader(path: Path) -> Reading:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        path.write_bytes("\n".join(text.splitlines()).encode("utf-8", "surrogateescape") + b"\n")
        return good(path)

    return reader


def without_orphans(good: Reader) -> Reader:
    """A bad reader: an entry whose parent is missing is lost, with all that follows from it."""

    def reader(path: Path) -> Reading:
        seen = outline(write_bytes(path, path.read_bytes()))
        lost = set(seen.tree.repaired)
        for i, parent in enumerate(seen.tree.parents):
            if parent in lost:
                lost.add(i)
        reading = good(path)
        said = [i for i, entry in enumerate(seen.entries) if entry.is_message]
        kept = [content for i, content in zip(said, reading.contents, strict=True) if i not in lost]
        return Reading(kept, reading.problems)

    return reader


def twice_what_is_glued(good: Reader) -> Reader:
    """A bad reader: it says everything of a damaged file twice."""

    def reader(path: Path) -> Reading:
        reading = good(path)
        return Reading(reading.contents * (2 if reading.problems else 1), reading.problems)

    return reader


def without_a_word(good: Reader) -> Reader:
    """A bad reader: it skips what it can't read in silence."""
    return lambda path: Reading(good(path).contents, [])


@pytest.mark.parametrize("make_bad", [with_splitlines, without_orphans, twice_what_is_glued, without_a_word])
def test_a_bad_reader_is_caught(make_bad: object, tmp_path: Path, redactor: Redactor) -> None:
    assert callable(make_bad)
    caught = list(islice(failures(make_bad(our_reader(redactor)), range(60), tmp_path), 5))

    assert len(caught) == 5


def test_a_reader_that_raises_or_mixes_up_the_order_is_caught(tmp_path: Path, redactor: Redactor) -> None:
    def raises(path: Path) -> Reading:
        raise UnicodeDecodeError("utf-8", path.read_bytes(), 0, 1, "no text")

    assert "raised UnicodeDecodeError" in next(failures(raises, range(1), tmp_path))[1][0]
    broken = next(b for b in map(broken_file, range(60)) if len(b.messages) > 3 and all(m.text for m in b.messages))
    backwards = Reading([message.text or "" for message in reversed(broken.messages)], [(n, "x") for n in broken.named])
    assert complaints(broken, backwards)[0].startswith("out of order")
