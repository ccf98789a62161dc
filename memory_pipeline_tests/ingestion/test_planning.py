"""What is due is decided from plain values."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.ingestion.planning import newest_stretch, settled, stretches

ORDER = [f"s{i}" for i in range(10)]


def test_stretches_hold_only_neighbours_and_at_most_the_size() -> None:
    assert stretches(["s1", "s2", "s3", "s5", "s9"], ORDER, 2) == [["s1", "s2"], ["s3"], ["s5"], ["s9"]]


def test_stretches_follow_the_order_of_the_partitions_not_of_the_question() -> None:
    assert stretches(["s3", "s2"], ORDER, 10) == [["s2", "s3"]]


def test_keys_that_dagster_does_not_know_are_in_no_stretch() -> None:
    assert stretches(["elsewhere"], ORDER, 10) == []


def test_the_newest_session_is_always_in_the_next_stretch() -> None:
    waiting = ["s4", "s9", "s8", "s3", "s2", "s5"]  # newest first: s4 has just grown
    assert newest_stretch(waiting, ORDER, 3) == ["s2", "s3", "s4"]
    assert newest_stretch(waiting, ORDER, 10) == ["s2", "s3", "s4", "s5"]


def test_no_stretch_where_nothing_waits() -> None:
    assert newest_stretch([], ORDER, 3) == []


SECOND = 1_000_000_000


def at(*seconds: int) -> list[tuple[Path, int]]:
    return [(Path(f"f{s}"), s * SECOND) for s in seconds]


def test_a_file_still_being_written_waits_and_is_taken_once_it_is_quiet() -> None:
    due, watermark = settled(at(95), 0, now_ns=100 * SECOND, settle_ns=30 * SECOND, cap=10)
    assert (due, watermark) == ([], 70 * SECOND)
    due, watermark = settled(at(95), watermark, now_ns=130 * SECOND, settle_ns=30 * SECOND, cap=10)
    assert due == [Path("f95")]
    due, _ = settled(at(95), watermark, now_ns=160 * SECOND, settle_ns=30 * SECOND, cap=10)
    assert due == []


def test_a_file_that_grows_is_taken_again() -> None:
    _, watermark = settled(at(10), 0, now_ns=100 * SECOND, settle_ns=30 * SECOND, cap=10)
    due, _ = settled([(Path("f10"), 110 * SECOND)], watermark, now_ns=150 * SECOND, settle_ns=30 * SECOND, cap=10)
    assert due == [Path("f10")]


def test_more_files_than_a_tick_takes_are_taken_by_the_next_ones_none_twice() -> None:
    files = at(*range(1, 26))
    seen: list[Path] = []
    watermark = 0
    for _ in range(4):
        due, watermark = settled(files, watermark, now_ns=100 * SECOND, settle_ns=30 * SECOND, cap=10)
        seen += due
    assert seen == [path for path, _ in files]


def test_files_of_one_instant_are_taken_together() -> None:
    files = [(Path(f"f{i}"), 5 * SECOND) for i in range(7)]
    due, watermark = settled(files, 0, now_ns=100 * SECOND, settle_ns=SECOND, cap=3)
    assert len(due) == 7
    assert watermark == 5 * SECOND


@pytest.mark.parametrize("size", [1, 3, 250])
def test_every_wanted_key_is_in_exactly_one_stretch(size: int) -> None:
    wanted = [key for i, key in enumerate(ORDER) if i % 3]
    assert sorted(key for stretch in stretches(wanted, ORDER, size) for key in stretch) == wanted
