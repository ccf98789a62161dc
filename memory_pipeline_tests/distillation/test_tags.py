from __future__ import annotations

from memory_pipeline.distillation.tags import normalise_tags, tags_of


def test_tags_become_lower_case_and_hyphenated_and_each_comes_once() -> None:
    assert normalise_tags(["Rate Limit", "rate_limit", " Node.js ", "!!", ""]) == ("rate-limit", "node-js")


def test_no_more_than_eight_tags_stay() -> None:
    assert len(normalise_tags(f"t{n}" for n in range(20))) == 8


def test_few_tags_stay_few() -> None:
    assert normalise_tags(["one"]) == ("one",)


def test_names_make_the_tags_of_a_memory() -> None:
    assert tags_of("The `stock-sync` job on otter-1 uses PG_POOL_MAX") == ("stock-sync", "otter-1", "pg-pool-max")


def test_long_words_help_out_where_names_are_few() -> None:
    assert tags_of("keep answers short from now on") == ("answers", "short", "keep")


def test_counts_and_hashes_are_no_tags() -> None:
    assert tags_of("Committed as 4c1be07 after 42 runs on otter-1") == ("otter-1", "committed", "after")


def test_tags_of_a_text_without_spaces_are_its_words() -> None:
    assert tags_of("原因はタイムゾーンです。現地時刻で日付を作る") == ("タイムゾーン", "現地時刻", "原因")
