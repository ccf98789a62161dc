"""Times of a log: milliseconds since 1970 here, ISO 8601 in documents; what cannot be a time of this log is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
EARLIEST = 946_684_800_000
"""2000-01-01."""
LATEST = 4_102_444_800_000
"""2100-01-01."""
_TEN_YEARS = 315_576_000_000
_SECONDS_BELOW = 100_000_000_000
"""A number under this is seconds: as milliseconds it would lie before March 1973."""


def parse_time(value: object, *, latest: int = LATEST) -> int | None:
    """An ISO string or a number of milliseconds (or seconds) since 1970 → milliseconds since 1970.

    None for anything else, and for times before 2000 or from ``latest`` on.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
            time = (moment - _EPOCH) // _MILLISECOND
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            time = int(value * 1000 if abs(value) < _SECONDS_BELOW else value)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return time if EARLIEST <= time < latest else None


def latest_for(header_time: int | None) -> int:
    """Where the future begins for the entries of a session: ten years after its header.

    Measured against the log, not the clock, so that reading a file again tomorrow gives the same documents.
    """
    return LATEST if header_time is None else min(LATEST, header_time + _TEN_YEARS)


def from_mtime(mtime_ns: int) -> int:
    """A file's modification time, the last resort of a log without any time."""
    time = mtime_ns // 1_000_000
    try:
        format_time(time)
    except OverflowError:
        return 0
    return time


def format_time(time: int) -> str:
    """``2026-05-04T10:11:12.345Z``. Raises OverflowError outside of the years 1 to 9999."""
    return (_EPOCH + time * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")
