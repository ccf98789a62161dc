"""What may enter a store: documents that fit their class, as canonical JSON, and the vector beside it.

Reasons name fields, never values: what was refused must not leak into a log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from memory_pipeline.documents import Document
from memory_pipeline.stores.contract import Refused
from memory_pipeline.stores.vectors import encode_vector

EMBEDDING_MODEL = "embedding_model"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A document that fits. ``fields`` and ``body`` (their canonical JSON) are without the vector and its model."""

    doc_id: str
    fields: dict[str, Any]
    body: str
    vector: bytes | None
    model: str | None


def admit(kind: type[Document], item: object) -> Admitted | Refused:
    """Check one document, given as an instance (even one made without validation) or as a mapping."""
    if not isinstance(item, BaseModel | Mapping):
        return Refused("", "", "is neither a document nor a mapping")
    try:
        fields = item.model_dump(warnings=False) if isinstance(item, BaseModel) else dict(item)
        if not isinstance(item, BaseModel):
            # Parts inside the mapping may be instances made without validation: as plain fields they are checked too.
            fields = kind.model_validate(fields).model_dump(warnings=False)
        fields = kind.model_validate(fields).model_dump(warnings=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return Refused(_given_id(item), ".".join(str(step) for step in first["loc"]), first["msg"])
    except (ValueError, RecursionError):
        return Refused(_given_id(item), "", "refers to itself or is nested too deeply")
    if not fields["doc_id"]:
        return Refused("", "doc_id", "must not be empty")
    return _encoded(kind, fields)


def _encoded(kind: type[Document], fields: dict[str, Any]) -> Admitted | Refused:
    doc_id: str = fields["doc_id"]
    vector = model = None
    if kind.vector_field is not None:
        given, model = fields.pop(kind.vector_field), fields.pop(EMBEDDING_MODEL)
        if given is not None and model is None:
            return Refused(_readable(doc_id), EMBEDDING_MODEL, "must name the model of the vector")
        try:
            vector = None if given is None else encode_vector(given)
        except ValueError as error:
            return Refused(_readable(doc_id), kind.vector_field, str(error))
    try:
        body = canonical_json(fields)
    except ValueError as error:
        return Refused(_readable(doc_id), _first_unstorable(fields), str(error))
    return Admitted(doc_id, fields, body, vector, model)


def canonical_json(value: object) -> str:
    """JSON that is the same text for equal values; ValueError, with the reason, for what JSON can't say."""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no text") from None
    except (TypeError, ValueError, RecursionError):
        raise ValueError("holds what JSON can't say, such as NaN, an object, or a list in itself") from None
    return text


def _first_unstorable(fields: Mapping[str, Any]) -> str:
    for name, value in fields.items():
        try:
            canonical_json(value)
        except ValueError:
            return name
    return ""


def _given_id(item: BaseModel | Mapping[Any, Any]) -> str:
    given = item.get("doc_id") if isinstance(item, Mapping) else getattr(item, "doc_id", None)
    return _readable(given) if isinstance(given, str) else ""


def _readable(doc_id: str) -> str:
    """The id as text that can be printed and logged, whatever it holds."""
    return doc_id.encode("utf-8", "backslashreplace").decode()
