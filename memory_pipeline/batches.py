"""Cutting a stream into lists (``itertools.batched`` is not in Python 3.11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items, the last one shorter."""
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch


def batched_by(items: Iterable[T], size: int, weight: Callable[[T], int], heaviest: int) -> Iterator[list[T]]:
    """Lists of at most ``size`` items, each ended by the item that brings it to ``heaviest`` or beyond."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += weight(item)
        if len(batch) >= size or total >= heaviest:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
