"""What everybody does who has texts embedded."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLANK = "."
"""Sent for a text of nothing but blanks, which some servers refuse."""


def of_unit_length(vector: Sequence[float]) -> list[float]:
    """The vector's direction; ValueError, with the reason, where it has none."""
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise ValueError("a vector of zeros" if length == 0 else "a vector that holds NaN or infinity")
    return [number / length for number in vector]
