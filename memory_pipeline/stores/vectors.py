"""Vectors as bytes: little-endian 32-bit floats, checked before they reach a store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_FLOAT32 = np.dtype("<f4")


def encode_vector(vector: Sequence[float]) -> bytes:
    """The vector as 32-bit floats; ValueError, with the reason, where it is none that has a direction."""
    numbers = np.asarray(vector)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "fiu":
        raise ValueError("must be a list of numbers")
    with np.errstate(over="ignore"):
        floats = numbers.astype(_FLOAT32)
    if not np.isfinite(floats).all():
        raise ValueError("must hold finite numbers only")
    if not floats.any():
        raise ValueError("must not be all zeros")
    return floats.tobytes()


def as_floats(raw: bytes) -> NDArray[np.float32]:
    """The numbers as they are, for who writes them with the digits of 32 bits, not of 64."""
    return np.frombuffer(raw, dtype=_FLOAT32)


def decode_vector(raw: bytes) -> list[float]:
    return [float(number) for number in np.frombuffer(raw, dtype=_FLOAT32)]


def dimensions(raw: bytes) -> int:
    """How many numbers an encoded vector has."""
    return len(raw) // _FLOAT32.itemsize
