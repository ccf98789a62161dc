"""A sequence that keeps its items as something smaller and makes them when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Compact(Sequence[T]):
    """Equal to any sequence of equal items; its slices are tuples."""

    __slots__ = ()

    @abstractmethod
    def item(self, index: int) -> T:
        """The item at ``index``, from 0 to below the length."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(map(self.item, range(*index.indices(len(self)))))
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return self.item(position)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = ", …" if len(self) > 10 else ""
        return f"({', '.join(map(repr, islice(self, 10)))}{more})"


class Column(Compact[T], Generic[T]):
    """An array as a sequence of Python's own numbers (or booleans, by its type)."""

    __slots__ = ("_values",)

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = np.ascontiguousarray(values).data

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        return iter(self._values)  # type: ignore[arg-type]  # of whatever its format says

    def item(self, index: int) -> T:
        return self._values[index]  # type: ignore[return-value]

    @property
    def array(self) -> NDArray[Any]:
        """The same values for computing with; read only."""
        values = np.asarray(self._values)
        values.flags.writeable = False
        return values
