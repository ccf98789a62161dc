"""Times of a log as they are kept: UTC, ISO 8601, milliseconds; what cannot be a time of this log is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = "2000"
LATEST = "2100"
_YEARS_OF_A_SESSION = 10
_SECONDS_BELOW = 100_000_000_000
"""A number under this is seconds: as milliseconds it would lie before March 1973."""


def parse_time(value: object, *, latest: str = LATEST) -> str | None:
    """An ISO string or a number of milliseconds (or seconds) since 1970 → ``2026-05-04T10:11:12.345Z``.

    None for anything else, and for times before 2000 or from ``latest`` on.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            milliseconds = value * 1000 if abs(value) < _SECONDS_BELOW else value
            moment = _EPOCH + timedelta(milliseconds=int(milliseconds))
        else:
            return None
    except (ValueError, OverflowError):
        return None
    text = _format(moment)
    return text if _EARLIEST <= text < latest else None


def latest_for(header_time: str | None) -> str:
    """Where the future begins for the entries of a session: ten years after its header.

    Measured against the log, not the clock, so that reading a file again tomorrow gives the same documents.
    """
    return f"{int(header_time[:4]) + _YEARS_OF_A_SESSION}{header_time[4:]}" if header_time else LATEST


def from_mtime(mtime_ns: int) -> str:
    """A file's modification time, the last resort of a log without any time."""
    try:
        return _format(_EPOCH + timedelta(microseconds=mtime_ns // 1000))
    except OverflowError:
        return _format(_EPOCH)


def _format(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
