"""Vectors made ahead are those that would have been made when asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from memory_pipeline.errors import ModelOutage
from memory_pipeline.models.ahead import EmbedsAhead

WAIT = 10.0  # seconds, before a test that hangs fails


class Lengths:
    """An embedder whose vector of a text is its length; it begins when it is let."""

    model = "lengths"
    dimensions = 1

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.let = threading.Event()
        self.closed = False

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        assert self.let.wait(WAIT)
        self.asked.append(list(texts))
        if "down" in texts:
            raise ModelOutage("No answer")
        return [[float(len(text))] for text in texts]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def lengths() -> Lengths:
    return Lengths()


@pytest.fixture
def ahead(lengths: Lengths) -> Iterator[EmbedsAhead]:
    with closing(EmbedsAhead(lengths)) as embedder:
        yield embedder
        lengths.let.set()


def test_expecting_waits_for_nothing_and_each_text_is_embedded_once(lengths: Lengths, ahead: EmbedsAhead) -> None:
    ahead.expect(["a", "bb", "a"])
    ahead.expect(["bb", "ccc"])
    assert lengths.asked == []
    lengths.let.set()
    assert ahead.embed(["ccc", "a"]) == [[3.0], [1.0]]
    assert ahead.embed(["bb"]) == [[2.0]]
    assert lengths.asked == [["a", "bb"], ["ccc"]]


def test_what_was_not_expected_is_embedded_when_asked_for(lengths: Lengths, ahead: EmbedsAhead) -> None:
    lengths.let.set()
    ahead.expect(["a"])
    assert ahead.embed(["dddd", "a", "dddd"]) == [[4.0], [1.0], [4.0]]
    assert sorted(lengths.asked) == [["a"], ["dddd"]]
    assert ahead.embed([]) == []


def test_a_vector_is_kept_for_one_question_only(lengths: Lengths, ahead: EmbedsAhead) -> None:
    lengths.let.set()
    ahead.expect(["a"])
    ahead.embed(["a"])
    ahead.embed(["a"])
    assert lengths.asked == [["a"], ["a"]]


def test_an_outage_is_raised_where_the_vector_is_asked_for(lengths: Lengths, ahead: EmbedsAhead) -> None:
    lengths.let.set()
    ahead.expect(["down"])
    ahead.expect(["a"])
    assert ahead.embed(["a"]) == [[1.0]]
    with pytest.raises(ModelOutage, match="No answer"):
        ahead.embed(["down"])


def test_closing_leaves_out_what_was_not_begun(lengths: Lengths) -> None:
    ahead = EmbedsAhead(lengths)
    ahead.expect(["a"])
    ahead.expect(["bb"])
    threading.Timer(0.05, lengths.let.set).start()
    ahead.close()
    assert lengths.asked in ([], [["a"]])
    assert lengths.closed
    assert (ahead.model, ahead.dimensions) == ("lengths", 1)
