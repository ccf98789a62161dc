from __future__ import annotations

import pytest

from memory_pipeline.retrieval.snippets import snippet

FILLER = "Nothing of note was said about anything at all. " * 40


def test_the_passage_around_the_terms_is_shown() -> None:
    text = f"{FILLER}The valves of the pump were replaced on Monday. {FILLER}"
    shown = snippet(text, ["valve", "pumps", "replacing"])
    assert "valves of the pump were replaced" in shown
    assert len(shown) <= 300
    assert shown.startswith("… ") and shown.endswith(" …")


def test_the_place_with_most_different_terms_wins() -> None:
    text = f"pump pump pump pump. {FILLER}The pump has a valve. {FILLER}"
    assert "has a valve" in snippet(text, ["pump", "valve"])


def test_a_short_text_is_shown_whole_in_one_line() -> None:
    assert snippet("user: the pump\n\nis  broken", ["pump"]) == "user: the pump is broken"


def test_without_a_match_the_beginning_is_shown() -> None:
    shown = snippet("Begin here. " + FILLER, ["zebra"])
    assert shown.startswith("Begin here.")
    assert len(shown) <= 300


@pytest.mark.parametrize("text", ["", "   \n", "x" * 5_000, "pump" * 5_000, " " * 5_000 + "pump", "a(b" * 900])
@pytest.mark.parametrize("terms", [[], ["pump"], ["a(b", "*"]])
def test_odd_texts_and_terms_are_no_problem(text: str, terms: list[str]) -> None:
    assert len(snippet(text, terms)) <= 300
