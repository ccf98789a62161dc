"""What many entries say of themselves in strings → arrays of numbers: ids become keys, times milliseconds.

Nearly all ids and times have the one shape that pi writes, and a thousand of those are turned by a few array
operations; the rest is looked at one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.sessions.clock import EARLIEST

Ints = NDArray[np.int64]

NO_ID = -1
NO_PARENT = -1
UNLINKED = -2
"""Of an entry that says nothing of a parent: in v1 none does, and each follows the one before it."""
UNKNOWN = -3
"""Of a parent that is no id."""
LONG = 1 << 62
"""Keys from here on stand for ids of another shape than pi's eight hex digits; smaller ones are those digits."""
NO_TIME = -1

LONGEST_ID = 128
_ID_LENGTH = 8
_NIBBLES = np.full(256, 16, np.int64)
_NIBBLES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_PLACES = 16 ** np.arange(_ID_LENGTH - 1, -1, -1, dtype=np.int64)

_TIME = b"0000-00-00T00:00:00.000Z"
_ZEROS = np.frombuffer(_TIME, np.uint8)
_MOST = np.frombuffer(b"9999-19-39T29:59:59.999Z", np.uint8) - _ZEROS
_WEIGHTS = np.zeros((len(_TIME), 3))  # of each digit in the date as a number, the hours, the rest in milliseconds
_WEIGHTS[[0, 1, 2, 3, 5, 6, 8, 9], 0] = 10.0 ** np.arange(7, -1, -1)
_WEIGHTS[[11, 12], 1] = 10, 1
_WEIGHTS[[14, 15, 17, 18, 20, 21, 22], 2] = 600_000, 60_000, 10_000, 1_000, 100, 10, 1
_HOUR = 3_600_000
_DAY = 24 * _HOUR
_FIRST_DAY = date(1970, 1, 1).toordinal()


class Unlinked:
    """Stands where an entry has no ``parentId`` at all, not even null."""


def id_keys(ids: Sequence[object]) -> Ints:
    """Equal keys for equal ids; NO_ID for what is none."""
    return _keys(ids, lambda value: _long_key(value) if usable_id(value) else NO_ID)


def parent_keys(parents: Sequence[object]) -> Ints:
    """The keys of the parents' ids, NO_PARENT for null, UNLINKED for the class Unlinked, UNKNOWN for what is no id."""

    def key(value: object) -> int:
        if value is None:
            return NO_PARENT
        if value is Unlinked:
            return UNLINKED
        return _long_key(value) if usable_id(value) else UNKNOWN

    return _keys(parents, key)


def usable_id(value: object) -> bool:
    """Damaged files hold anything for an id; of each entry this much at most is kept."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID


def id_of(key: int) -> str | None:
    """The id of a key below LONG; None for NO_ID."""
    return None if key == NO_ID else f"{key:08x}"


def times(values: Sequence[object], latest: int) -> Ints:
    """Milliseconds since 1970 of times written as pi writes them, NO_TIME for all other values.

    NO_TIME too before 2000 and from ``latest`` on.
    """
    digits = _matrix(values, len(_TIME)) - _ZEROS  # wraps round, so that anything below a zero is large
    dates, hours, of_day = (digits.astype(np.float64) @ _WEIGHTS).T.astype(np.int64)
    found: Ints = hours * _HOUR + of_day
    plain = hours < 24
    if not (digits <= _MOST).all():
        plain &= (digits <= _MOST).all(axis=1)
    for day in {int(dates[0])} if (dates == dates[0]).all() else set(dates[plain].tolist()):
        found[dates == day] += _midnight(day)
    plain &= (found >= EARLIEST) & (found < latest)
    found[~plain] = NO_TIME
    return found


def _midnight(number: int) -> int:
    """Of a date written as a number (20260504); before all times where there is no such day."""
    try:
        return (date(number // 10_000, number // 100 % 100, number % 100).toordinal() - _FIRST_DAY) * _DAY
    except ValueError:
        return -(1 << 60)


def _keys(values: Sequence[object], other: Callable[[object], int]) -> Ints:
    if (plain := _joined(values, _ID_LENGTH)) and plain == plain.lower():
        with suppress(ValueError):
            return np.frombuffer(bytes.fromhex(plain), ">u4").astype(np.int64)
    digits = _NIBBLES[_matrix(values, _ID_LENGTH)]
    keys: Ints = digits @ _PLACES
    for index in np.flatnonzero((digits > 15).any(axis=1)).tolist():
        keys[index] = other(values[index])
    return keys


def _matrix(values: Sequence[object], length: int) -> NDArray[np.uint8]:
    """A row of bytes for each value; question marks for what is no string of this length, or of other signs."""
    blank = "?" * length
    plain = _joined(values, length) or "".join(
        [value if type(value) is str and len(value) == length else blank for value in values]
    )
    return np.frombuffer(plain.encode("ascii", "replace"), np.uint8).reshape(-1, length)


def _joined(values: Sequence[Any], length: int) -> str:
    """The values one after the other if all are strings of this length, else nothing."""
    try:
        return "".join(values) if set(map(len, values)) == {length} else ""
    except TypeError:
        return ""


def _long_key(value: object) -> int:
    text = str(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 2 | LONG
