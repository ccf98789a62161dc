"""Cutting a stream into lists (``itertools.batched`` is not in Python 3.11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items, the last one shorter."""
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch
