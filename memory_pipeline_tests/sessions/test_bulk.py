"""What is done for many at once gives what looking at each would."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline.sessions.bulk import (
    LONG,
    NO_ID,
    NO_PARENT,
    NO_TIME,
    UNKNOWN,
    UNLINKED,
    Unlinked,
    id_keys,
    id_of,
    parent_keys,
    times,
)
from memory_pipeline.sessions.clock import LATEST, format_time, parse_time

PI_TIMES = st.integers(946_684_800_000, 4_102_444_799_999).map(format_time)
BROKEN_TIMES = st.builds(
    lambda text, at, sign: text[:at] + sign + text[at + 1 :],
    PI_TIMES,
    st.integers(0, 23),
    st.sampled_from("0123456789:-TZ. \x00é\ud83d"),
)
OTHERS = st.one_of(st.none(), st.integers(), st.floats(), st.booleans(), st.text(max_size=30), st.lists(st.integers()))


@given(st.lists(PI_TIMES | BROKEN_TIMES | OTHERS, min_size=1, max_size=20))
@example(["2024-02-29T23:59:59.999Z", "2023-02-29T00:00:00.000Z", "2026-01-01T24:00:00.000Z"])
@example(["1999-12-31T23:59:59.999Z", "2100-01-01T00:00:00.000Z", "2099-12-31T23:59:59.999Z"])
@example(["2026-01-01T00:00:60.000Z", "2026-01-01T00:60:00.000Z", "2026-13-01T00:00:00.000Z"])
@example(["0000-00-00T00:00:00.000Z"])
def test_times_of_many_are_those_of_each(values: list[Any]) -> None:
    for value, time in zip(values, times(values, LATEST).tolist(), strict=True):
        # What is not written as pi writes it is left to others, never read wrong.
        expected = parse_time(value) if isinstance(value, str) else None
        plain = isinstance(value, str) and expected is not None and format_time(expected) == value
        assert time == (expected if plain else NO_TIME)


def test_times_end_where_the_future_begins() -> None:
    latest = parse_time("2026-05-04T10:11:12.345Z")
    assert latest is not None

    assert times(["2026-05-04T10:11:12.344Z", "2026-05-04T10:11:12.345Z"], latest).tolist() == [latest - 1, NO_TIME]


IDS = st.one_of(
    st.integers(0, 2**32 - 1).map("{:08x}".format),
    st.text(alphabet="0123456789abcdefABCDEF _", min_size=8, max_size=8),
    st.text(max_size=12),
    st.sampled_from(["019e1111-2222-7333-8444-555555555555", "x" * 128]),
)


@given(st.lists(IDS | st.none() | st.integers(), max_size=20))
@example(["0000000a", "0000000A", "a       ", "       a"])
@example(["é" * 8, "\ud83d" * 8, "x" * 129])
def test_ids_are_equal_where_their_keys_are(values: list[Any]) -> None:
    keys = id_keys(values).tolist()

    for key, value in zip(keys, values, strict=True):
        usable = isinstance(value, str) and 0 < len(value) <= 128
        assert (key == NO_ID) == (not usable)
        assert key == NO_ID or key >= LONG or id_of(key) == value
        for other, one in zip(keys, values, strict=True):
            assert not usable or (key == other) == (value == one)


@pytest.mark.parametrize("more", [[], ["0000000b"] * 50], ids=["alone", "among many"])
def test_a_parent_can_be_none_unnamed_or_no_id(more: list[Any]) -> None:
    keys = parent_keys([None, Unlinked, "", 5, "0000000a", *more]).tolist()

    assert keys[:5] == [NO_PARENT, UNLINKED, UNKNOWN, UNKNOWN, 10]
    assert parent_keys(["some parent"]).tolist() == id_keys(["some parent"]).tolist()
