from __future__ import annotations

import pytest

from memory_pipeline.sessions.clock import format_time, from_mtime, latest_for, parse_time


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-04T10:11:12.345Z", "2026-05-04T10:11:12.345Z"),
        ("2026-05-04T12:11:12.3456+02:00", "2026-05-04T10:11:12.345Z"),
        ("2026-05-04T10:11:12", "2026-05-04T10:11:12.000Z"),
        (1777889472345, "2026-05-04T10:11:12.345Z"),
        (1777889472345.0, "2026-05-04T10:11:12.345Z"),
        (1777889472, "2026-05-04T10:11:12.000Z"),
    ],
)
def test_times_are_kept_as_utc_milliseconds(value: object, expected: str) -> None:
    time = parse_time(value)

    assert time is not None
    assert format_time(time) == expected


@pytest.mark.parametrize(
    "value",
    ["garbage", "", None, True, [], {}, -1, 0, 1, 1e20, 1e308, float("inf"), float("nan"), "2026-13-45T00:00:00Z",
     "1970-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2100-01-01T00:00:00Z"],
)  # fmt: skip
def test_what_is_no_time_is_none(value: object) -> None:
    assert parse_time(value) is None


def test_the_future_begins_ten_years_after_the_header() -> None:
    latest = latest_for(parse_time("2026-02-28T00:00:00.000Z"))

    assert parse_time("2036-02-27T00:00:00Z", latest=latest)
    assert parse_time("2099-01-01T00:00:00Z", latest=latest) is None
    assert parse_time("2099-01-01T00:00:00Z", latest=latest_for(None))


def test_a_modification_time_is_a_time() -> None:
    assert format_time(from_mtime(1777889472345678901)) == "2026-05-04T10:11:12.345Z"
    assert format_time(from_mtime(-1)) == "1969-12-31T23:59:59.999Z"
    assert format_time(from_mtime(10**30)) == "1970-01-01T00:00:00.000Z"
