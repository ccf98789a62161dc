from __future__ import annotations

import re

import pytest

from memory_pipeline.distillation.shortening import keep_ends, shorten, whole_sentences


def words(text: str) -> int:
    return len(text.split())


def test_a_text_that_fits_is_left_alone() -> None:
    assert shorten("a b c", tokens=3, count=words).text == "a b c"
    assert shorten("a b c", tokens=3, count=words).cut_chars == 0


@pytest.mark.parametrize("tokens", [20, 100, 700])
def test_a_long_text_keeps_its_ends_and_says_how_much_is_missing(tokens: int) -> None:
    text = " ".join(f"word{n:04}" for n in range(2_000))
    short = shorten(text, tokens=tokens, count=words)
    assert words(short.text) <= tokens
    assert short.text.startswith("word0000")
    assert short.text.endswith("word1999")
    marker = re.search(r"\[… ([\d,]+) characters left out …\]", short.text)
    assert marker is not None
    assert int(marker[1].replace(",", "")) == short.cut_chars
    assert len(text) == short.cut_chars + len(short.text) - len(marker[0]) - 2


def test_most_of_the_room_is_used() -> None:
    text = " ".join(f"word{n:04}" for n in range(2_000))
    assert words(shorten(text, tokens=1_000, count=words).text) > 700


def test_a_huge_text_is_never_counted_whole() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 3

    shorten("x" * 50_000_000, tokens=1_000, count=count)
    assert max(counted) < 10_000


def test_a_tokenizer_that_is_never_content_ends_the_trying() -> None:
    assert shorten("x" * 1_000, tokens=10, count=lambda text: 10_000).cut_chars == 1_000


def test_nothing_kept_is_only_the_marker() -> None:
    assert keep_ends("abc", 0).text.strip() == "[… 3 characters left out …]"


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        ("One. Two. Three.", "One. Two. Three."),
        ("One. Two. Three. Four.", "One. Two. Three."),
        ("Version 1.2.3 of a.b is used, e.g. here. Two", "Version 1.2.3 of a.b is used, e.g. here. Two"),
        ("x" * 390 + ". " + "y" * 20 + ".", "x" * 390 + "."),
        ("一つ目です。二つ目です。三つ目です。四つ目です。", "一つ目です。二つ目です。三つ目です。"),
        ("x" * 401, None),
        ("Same. Same. Same. Same.", "Same. Same. Same."),
    ],
)
def test_a_memory_is_cut_back_to_whole_sentences_or_not_at_all(summary: str, kept: str | None) -> None:
    assert whole_sentences(summary) == kept
