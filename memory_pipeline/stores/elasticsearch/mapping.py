"""The mapping of each tier's index, generated from ``documents``; strict, so that nothing is mapped by accident."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from memory_pipeline.documents import Document, FieldType, RawMessage, field_type

LONGEST_KEYWORD = 8_191
"""Characters: Lucene takes no term of more than 32,766 bytes. A longer value is kept, but not filtered on."""

WORDS = "words"
"""Field with all that keyword search looks in; ``words_de`` and the like hold it again in the document's language."""
MEMORABLE = "likely_memorable"
"""Field of a message that the optional ingest pipeline sets."""
DIGEST = "embedding_sha256"
"""Field with the hash of the vector: newer servers do not give vectors back with their documents."""

ANALYZERS: Mapping[str, str] = {
    "ar": "arabic", "bg": "bulgarian", "bn": "bengali", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german",
    "el": "greek", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french",
    "ga": "irish", "gl": "galician", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "ja": "cjk", "ko": "cjk", "lt": "lithuanian", "lv": "latvian", "nl": "dutch", "no": "norwegian",
    "nb": "norwegian", "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish",
    "th": "thai", "tr": "turkish", "zh": "cjk",
}  # fmt: skip
"""Language → Elasticsearch's analyzer for it. English is what every document is analysed as in any case."""

SETTINGS: Mapping[str, Any] = {
    "analysis": {
        # Words are cut and stemmed as SQLite's full-text search does it, so that both stores rank alike.
        "tokenizer": {"memory": {"type": "char_group", "tokenize_on_chars": ["whitespace", "punctuation", "symbol"]}},
        "analyzer": {
            "memory": {
                "type": "custom",
                "tokenizer": "memory",
                "filter": ["lowercase", "asciifolding", "porter_stem"],
            }
        },
    }
}

_TEXT = {"type": "text", "analyzer": "memory"}
_KEYWORD = {"type": "keyword", "ignore_above": LONGEST_KEYWORD}
_STORED = {"type": "keyword", "index": False, "doc_values": False}
_OPEN = {"type": "flattened", "ignore_above": LONGEST_KEYWORD}
_PLAIN: Mapping[FieldType, Mapping[str, Any]] = {
    FieldType.KEYWORD: _KEYWORD,
    FieldType.TEXT: _TEXT,
    FieldType.KEYWORD_TEXT: {**_KEYWORD, "fields": {"text": _TEXT}},
    FieldType.DATE: {"type": "date", "format": "strict_date_time||strict_date"},
    FieldType.INTEGER: {"type": "long"},
    FieldType.FLOAT: {"type": "double"},
    FieldType.BOOLEAN: {"type": "boolean"},
    FieldType.STORED: _STORED,
}


def properties(kind: type[Document]) -> dict[str, Any]:
    """Field → how it is mapped, but for the vector, whose length is not known before there is one."""
    found = _of_model(kind, copied=True)
    if kind.vector_field is not None:
        del found[kind.vector_field]
        found[DIGEST] = _STORED
    if kind.text_fields():
        found[WORDS] = _TEXT
    if kind is RawMessage:
        found[MEMORABLE] = {"type": "boolean"}
    return found


def language_field(code: str | None) -> str | None:
    """The field for text in this language; None where it is analysed as English."""
    return f"{WORDS}_{code}" if code in ANALYZERS else None


def language_property(code: str) -> dict[str, Any]:
    return {"type": "text", "analyzer": ANALYZERS[code]}


def _of_model(model: type[BaseModel], *, copied: bool = False) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    return {name: _property(hints[name], f"{model.__name__}.{name}", copied) for name in model.model_fields}


def _property(hint: Any, where: str, copied: bool) -> dict[str, Any]:
    kind = field_type(hint, where)
    if kind is FieldType.OBJECT:
        part = _part(hint)
        return dict(_OPEN) if part is None else {"properties": _of_model(part)}
    if kind is FieldType.VECTOR:
        return {}
    found = dict(_PLAIN[kind])
    return {**found, "copy_to": [WORDS]} if copied and kind in (FieldType.TEXT, FieldType.KEYWORD_TEXT) else found


def _part(hint: Any) -> type[BaseModel] | None:
    """The class of the objects inside; None where the document leaves open what they hold."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint
    if get_origin(hint) is dict:
        return None
    return next((part for inner in get_args(hint) if (part := _part(inner)) is not None), None)
