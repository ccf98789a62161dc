"""Where the value of a filter's field sits in a document: dotted paths, checked against the document's class.

The same for every store, so that a misspelt or unsearchable field is an error everywhere and never an empty answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from memory_pipeline.documents import Document, FieldType, field_type
from memory_pipeline.errors import StoreError

FILTERABLE = frozenset(
    {
        FieldType.KEYWORD,
        FieldType.KEYWORD_TEXT,
        FieldType.DATE,
        FieldType.INTEGER,
        FieldType.FLOAT,
        FieldType.BOOLEAN,
    }
)


@dataclass(frozen=True, slots=True)
class FieldPath:
    """``outer`` leads to the value, or to the list that holds it; ``inner`` goes on from an element of that list."""

    name: str
    type: FieldType
    outer: tuple[str, ...]
    inner: tuple[str, ...] = ()
    many: bool = False
    """Whether a document can have several values here."""

    def values(self, fields: Mapping[str, Any]) -> Iterator[Any]:
        """The values other than None that a document's plain fields hold here."""
        found = _descend(fields, self.outer)
        for element in found if isinstance(found, list) else [found]:
            value = _descend(element, self.inner)
            if value is not None:
                yield value


def _descend(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


@lru_cache(maxsize=4096)
def filter_path(kind: type[Document], name: str) -> FieldPath:
    """The path of a field that can be filtered on; StoreError for any other name."""
    path = _resolve(kind, name)
    if path is None:
        raise StoreError(f"There is no field {name} in {kind.index}; check its spelling.")
    if path.type not in FILTERABLE:
        raise StoreError(f"The field {name} of {kind.index} can't be filtered on; search it by keyword instead.")
    return path


def sort_path(kind: type[Document], name: str) -> FieldPath:
    """The path of a field that documents can be ordered by; StoreError for any other name."""
    path = filter_path(kind, name)
    if path.many:
        raise StoreError(f"The field {name} of {kind.index} can have several values, so nothing can be ordered by it.")
    return path


def _resolve(kind: type[Document], name: str) -> FieldPath | None:
    steps = tuple(name.split("."))
    hint: Any = kind
    end_of_outer = len(steps)
    many = False
    for position, step in enumerate(steps):
        parts, is_list = _parts(hint)
        if is_list and not many:
            many, end_of_outer = True, position
        model = next((p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)), None)
        if model is None:
            if not any(p is Any or get_origin(p) in (dict, Mapping) for p in parts):
                return None
            # The class leaves open what is inside, so it may be a list there.
            return FieldPath(name, FieldType.KEYWORD, steps[:end_of_outer], steps[end_of_outer:], many=True)
        if step not in model.model_fields:
            return None
        hint = get_type_hints(model, include_extras=True)[step]
    kind_of_value = field_type(hint, name)
    return FieldPath(name, kind_of_value, steps[:end_of_outer], steps[end_of_outer:], many or _parts(hint)[1])


def _parts(hint: Any) -> tuple[list[Any], bool]:
    """The types that a hint allows, None and list[...] taken off, and whether a list is among them."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _parts(get_args(hint)[0])
    if origin is list:
        return _parts(get_args(hint)[0])[0], True
    if origin in (Union, UnionType):
        found = [_parts(a) for a in get_args(hint) if a is not type(None)]
        return [part for parts, _ in found for part in parts], any(is_list for _, is_list in found)
    return [hint], False
