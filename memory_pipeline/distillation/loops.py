"""Tells an answer that went round in circles, as those of small models do until they are cut off."""

from __future__ import annotations

import zlib

LOOKED_AT = 400
"""Characters at an answer's end."""
LOOPING = 0.33
"""Share of its size to which a text shrinks that repeats itself; what says something hardly ever comes below .4."""


def ends_in_a_loop(text: str) -> bool:
    end = " ".join(text.split())[-LOOKED_AT:]
    return len(end) == LOOKED_AT and len(zlib.compress(end.encode())) < LOOPING * len(end.encode())
