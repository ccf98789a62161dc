from __future__ import annotations

import pytest

from memory_pipeline.distillation.marks import long_words, named_things


@pytest.mark.parametrize(
    "name",
    ["5433", "v1.2.0", "src/app.ts", "busy_timeout", "--limit", "camelCase", "LXC", "a@b.example", "std::move", "k=v"],
)
def test_a_token_with_signs_digits_or_inner_capitals_is_a_name(name: str) -> None:
    assert named_things(f"it is {name}, then") == {name.casefold(): name}


def test_code_is_one_name_with_all_its_words() -> None:
    assert list(named_things("call `make all` now")) == ["make all"]


def test_a_capital_is_a_name_inside_a_sentence_but_not_at_its_start() -> None:
    assert list(named_things("Please ask Ines. Then wait")) == ["ines"]


def test_the_first_person_is_no_name() -> None:
    assert named_things("so I'd go, and I'm sure I can") == {}


def test_a_possessive_is_the_same_name() -> None:
    assert list(named_things("we took Ines's plan and Ines agreed")) == ["ines"]


def test_a_blob_is_no_name() -> None:
    assert named_things("see " + "QUJD" * 50) == {}


def test_long_words_have_more_than_three_letters() -> None:
    assert long_words("The Pool of größe and X25519") == {"pool", "größe"}


def test_what_stands_for_a_secret_is_no_name() -> None:
    assert list(named_things("use KEY_ID=[redacted:aws-key:1a2b3c], or [redacted:token:4d5e6f]")) == ["key_id="]
