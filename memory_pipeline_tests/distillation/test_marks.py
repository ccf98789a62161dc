from __future__ import annotations

import pytest

from memory_pipeline.distillation.marks import is_passing, long_words, long_words_in_order, named_things


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


def test_a_name_ends_where_a_script_without_spaces_goes_on() -> None:
    assert list(named_things("UTCのCIでは`TZ=Asia/Tokyo`を vitest.config.ts に固定")) == [
        "utc",
        "ci",
        "tz=asia/tokyo",
        "vitest.config.ts",
    ]


def test_words_of_scripts_without_spaces_are_pairs_of_signs() -> None:
    assert long_words("生产数据库") == {"生产", "产数", "数据", "据库"}
    assert long_words("原因はタイムゾーンです") == {"原因", "タイムゾーン"}


def test_whole_words_of_such_scripts_stand_between_signs_of_grammar() -> None:
    assert long_words_in_order("慢的原因是每一行") == ["原因", "一行"]


def test_vowel_signs_do_not_cut_a_word() -> None:
    assert "शेड्यूलर" in long_words("शेड्यूलर चलता")


@pytest.mark.parametrize("name", ["42", "3.1", "95%", "12:30", "4c1be07", "1,204"])
def test_counts_times_and_hashes_pass(name: str) -> None:
    assert is_passing(name)


@pytest.mark.parametrize("name", ["9.0.5", "10.20.0.30", "v22", "0042_trgm", "deadbeef", "5433/tcp"])
def test_versions_addresses_and_identifiers_do_not(name: str) -> None:
    assert not is_passing(name)
