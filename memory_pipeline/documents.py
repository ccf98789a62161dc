"""The document of each tier: its fields, its id rule, and what a store indexes of it.

Stores generate their schemas from the classes here, so a field is declared once. Nothing here reads files,
stores or clocks. Times are UTC in ISO 8601 with milliseconds (``2026-05-04T10:11:12.345Z``), so that text
order is time order; vectors are lists of floats of unit length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class FieldType(StrEnum):
    """How a store indexes a field."""

    KEYWORD = "keyword"  # exact value, or a list of them
    TEXT = "text"  # analysed for keyword search
    KEYWORD_TEXT = "keyword_text"  # both
    DATE = "date"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    VECTOR = "vector"
    OBJECT = "object"  # plain object or array of them; its keywords can be filtered by a dotted path
    STORED = "stored"  # kept and returned, never searched


Keyword = Annotated[str, FieldType.KEYWORD]
Keywords = Annotated[list[str], FieldType.KEYWORD]
Text = Annotated[str, FieldType.TEXT]
KeywordText = Annotated[str, FieldType.KEYWORD_TEXT]
Timestamp = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"), FieldType.DATE]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$"), FieldType.DATE]
Integer = Annotated[int, FieldType.INTEGER]
Float = Annotated[float, FieldType.FLOAT]
Flag = Annotated[bool, FieldType.BOOLEAN]
Vector = Annotated[list[float], FieldType.VECTOR]
Stored = Annotated[str, FieldType.STORED]

Trust = Literal["user", "assistant", "tool"]
TurnState = Literal["pending", "none", "own", "stored", "invalid", "truncated", "refused", "outage"]
"""``own``: the pipeline's own call of a model, which an agent logged; nothing of it is anybody's memory."""
FINISHED: tuple[TurnState, ...] = ("none", "own", "stored")
"""States of a turn that need no further work while its fingerprint stays the same."""


def digest(*parts: str) -> str:
    """SHA-256 of the parts, hex, first 32 digits; a part's length is hashed too, so borders matter."""
    h = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        h.update(len(raw).to_bytes(8, "big"))
        h.update(raw)
    return h.hexdigest()[:32]


class Part(BaseModel):
    """An object inside a document."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SourceRef(Part):
    """One message that a derived document rests on; ``doc_id`` is its id in memory-raw."""

    session_id: Keyword
    turn_id: Keyword
    doc_id: Keyword | None = None


class Document(BaseModel):
    """Base of all tiers' documents: unknown fields and wrong types are refused, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True)

    index: ClassVar[str]
    """The index's name without its prefix (``raw`` → ``memory-raw``)."""
    vector_field: ClassVar[str | None] = None
    """The field that holds the document's vector, None where the tier has none."""
    indexed: ClassVar[tuple[str, ...]] = ()
    """Fields (dotted paths into objects) that are filtered on often: stores that choose index these."""

    doc_id: Keyword

    @classmethod
    def field_types(cls) -> dict[str, FieldType]:
        """Field name → how it is indexed; from the annotations. TypeError for a field without a type."""
        return {
            name: field_type(hint, f"{cls.__name__}.{name}")
            for name, hint in get_type_hints(cls, include_extras=True).items()
            if name in cls.model_fields
        }

    @classmethod
    @cache
    def text_fields(cls) -> tuple[str, ...]:
        """The fields that keyword search looks in, in declaration order."""
        wanted = (FieldType.TEXT, FieldType.KEYWORD_TEXT)
        return tuple(name for name, kind in cls.field_types().items() if kind in wanted)


def field_type(hint: Any, where: str) -> FieldType:
    """How a field with this annotation is indexed; TypeError, naming ``where``, for one without an index type."""
    origin = get_origin(hint)
    if origin is Annotated:
        for extra in get_args(hint)[1:]:
            if isinstance(extra, FieldType):
                return extra
        return field_type(get_args(hint)[0], where)
    if origin in (Union, UnionType):
        return field_type(next(a for a in get_args(hint) if a is not type(None)), where)
    if origin is Literal:
        return FieldType.KEYWORD
    if origin in (list, dict, Mapping) or (isinstance(hint, type) and issubclass(hint, BaseModel)):
        return FieldType.OBJECT
    raise TypeError(f"{where} has no index type: {hint!r}")


class RawMessage(Document):
    """One message of a session, redacted. Id: ``{session_id}_{turn_id}_{message_index}``."""

    index = "raw"
    indexed = ("session_id", "turn_id", "content_sha256", "project")

    session_id: Keyword
    turn_id: Keyword
    turn_index: Integer
    message_index: Integer
    role: Keyword
    content: Text
    tool_name: Keyword | list[str] | None = None
    session_started_at: Timestamp
    message_timestamp: Timestamp
    model: Keyword | None = None
    provider: Keyword | None = None
    entry_id: Keyword | None = None
    parent_entry_id: Keyword | None = None
    on_active_path: Flag
    kind: Keyword
    cwd: KeywordText
    project: KeywordText
    origin: Keyword
    is_error: Flag = False
    truncated_chars: Integer = 0
    thinking_chars: Integer = 0
    redactions: Integer = 0
    content_sha256: Keyword
    copy_of: Keyword | None = None

    @staticmethod
    def make_id(session_id: str, turn_id: str, message_index: int) -> str:
        return f"{session_id}_{turn_id}_{message_index}"


class DistillationState(Part):
    """What distilling made of a turn. ``fingerprint`` covers the turn's text, engine, prompt version and model."""

    state: TurnState = "pending"
    fingerprint: Keyword | None = None
    engine: Keyword | None = None
    prompt_version: Keyword | None = None
    model: Keyword | None = None
    attempts: Integer = 0
    error: Stored | None = None
    memories: Integer = 0
    dropped: Annotated[list[str], FieldType.STORED] = Field(default_factory=list)
    """Why proposed memories were not kept, one reason each."""
    parts: Integer = 1
    """Calls that the turn was split into."""
    cut_chars: Integer = 0
    """Characters of the turn that no call held."""
    prompt_tokens: Integer = 0
    completion_tokens: Integer = 0
    seconds: Float = 0.0


class Turn(Document):
    """One turn: a user message and all that followed from it. Id: ``{session_id}_{turn_index}``."""

    index = "turns"
    indexed = ("session_id", "distillation.state", "distillation.fingerprint", "started_at", "project", "copy_key")

    session_id: Keyword
    turn_id: Keyword
    turn_index: Integer
    project: KeywordText
    origin: Keyword
    source_refs: list[SourceRef]
    text: Text
    started_at: Timestamp
    ended_at: Timestamp
    message_count: Integer
    fingerprint: Keyword
    on_active_path: Flag
    copy_key: Keyword = ""
    """Equal in turns that say the same, by the same speakers, at the same times: copies of one another."""
    copy_of: Keyword | None = None
    language: Keyword | None = None
    distillation: DistillationState = Field(default_factory=DistillationState)

    @staticmethod
    def make_id(session_id: str, turn_index: int) -> str:
        return f"{session_id}_{turn_index}"


class DailyLog(Document):
    """What was said, by local day; expires. Id: hash of the turn and its text."""

    index = "daily-logs"
    vector_field = "embedding"
    indexed = ("expires_at", "day", "source_refs.session_id", "source_refs.turn_id", "project")

    day: Day
    project: KeywordText
    source_refs: list[SourceRef]
    text: Text
    message_timestamp: Timestamp
    expires_at: Timestamp
    embedding: Vector | None = None
    embedding_model: Keyword | None = None

    @staticmethod
    def make_id(turn_id: str, text: str) -> str:
        return digest(turn_id, text)


class Summary(Document):
    """One idea worth keeping, from one turn. Id: hash of ``{session_id}_{turn_id}_{summary_text}``."""

    index = "summary"
    vector_field = "summary_embedding"
    indexed = ("source_refs.session_id", "source_refs.turn_id", "established_at", "embedding_model", "project")

    summary: Text
    tags: Annotated[list[str], FieldType.KEYWORD_TEXT]
    source_refs: list[SourceRef]
    established_at: Timestamp
    summarized_at: Timestamp
    model: Keyword
    project: KeywordText
    origin: Keyword
    evidence: Annotated[list[str], FieldType.STORED] = Field(default_factory=list)
    language: Keyword | None = None
    trust: Trust
    prompt_version: Keyword
    summary_embedding: Vector | None = None
    embedding_model: Keyword | None = None

    @staticmethod
    def make_id(session_id: str, turn_id: str, summary_text: str) -> str:
        return digest(f"{session_id}_{turn_id}_{summary_text}")


class Entity(Document):
    """A person, place, thing or concept. Id: hash of type and normalised name."""

    index = "entities"
    vector_field = "embedding"
    indexed = ("type", "source_refs.session_id", "project")

    type: Literal["person", "place", "thing", "concept"]
    label: Keyword | None = None
    name: KeywordText
    aliases: Annotated[list[str], FieldType.KEYWORD_TEXT] = Field(default_factory=list)
    description: Text = ""
    project: KeywordText
    source_refs: list[SourceRef]
    first_seen: Timestamp
    last_seen: Timestamp
    mentions: Integer
    embedding: Vector | None = None
    embedding_model: Keyword | None = None

    @staticmethod
    def make_id(entity_type: str, normalised_name: str) -> str:
        return digest(entity_type, normalised_name)


class Fact(Document):
    """A curated statement, current or superseded. Id: hash of the project and the normalised statement."""

    index = "facts"
    vector_field = "embedding"
    indexed = ("invalid_at", "source_refs.session_id", "project")

    statement: Text
    kind: Keyword
    source: Text
    confidence: Float
    project: KeywordText
    source_refs: list[SourceRef]
    created_at: Timestamp
    valid_from: Timestamp
    invalid_at: Timestamp | None = None
    superseded_by: Keyword | None = None
    former_ids: Keywords = Field(default_factory=list)
    evidence: Annotated[list[str], FieldType.STORED] = Field(default_factory=list)
    embedding: Vector | None = None
    embedding_model: Keyword | None = None

    @staticmethod
    def make_id(project: str, normalised_statement: str) -> str:
        return digest(project, normalised_statement)


class Mentions(Document):
    """What one session says of entities; entities are merged from these. Id: session id."""

    index = "mentions"
    project: KeywordText
    source_refs: list[SourceRef]
    mentions: list[dict[str, Any]]


class SessionFacts(Document):
    """The facts one session yields; facts are merged from these. Id: session id."""

    index = "session-facts"
    project: KeywordText
    source_refs: list[SourceRef]
    facts: list[dict[str, Any]]


class Problem(Part):
    """Something in a session file that could not be read as it stands. ``line`` counts from 1, 0 = whole file."""

    line: Integer
    reason: Stored


class Header(Part):
    """A session file's header, as far as it is known. ``version`` 1 where the header names none."""

    id: Keyword | None = None
    version: Integer = 1
    timestamp: Timestamp | None = None
    cwd: Stored = ""
    parent_session: Stored | None = None


class SessionManifest(Document):
    """The state of record of one session file. Id: session id.

    ``content_sha256`` is of the complete lines that raw_sessions saw, ``indexed_sha256`` of those memory_raw took in,
    ``grouped_sha256`` of those turn_groups were built from; where they differ there is work to do.
    """

    index = "sessions"
    indexed = ("project", "started_at", "forked_from")

    path: Keyword
    format: Keyword
    header: Header
    name: Stored | None = None
    cwd: KeywordText
    project: KeywordText
    origin: Keyword
    started_at: Timestamp
    ended_at: Timestamp
    entries: Integer
    messages: Integer
    turns: Integer
    branches: Integer
    size: Integer
    mtime_ns: Integer
    content_sha256: Keyword
    reader_version: Keyword
    problems: list[Problem] = Field(default_factory=list)
    problem_count: Integer = 0
    quarantine: Stored | None = None
    indexed_sha256: Keyword | None = None
    grouped_sha256: Keyword | None = None
    forked_from: Keyword | None = None
    """The session that its file was forked from, as its header names it; it need not be in the store."""
    secrets: Annotated[list[str], FieldType.STORED] = Field(default_factory=list)
    """Marks of the secrets that were found in it (see ``redaction.marks``), by which they are known again."""
    rules_version: Keyword | None = None
    """Of the rules that all that is stored of it was last looked at with."""


class Meta(Document):
    """A note the store keeps about itself. Id: its name (``embedding:summary`` …)."""

    index = "meta"
    value: dict[str, Any]


DOCUMENTS: tuple[type[Document], ...] = (
    RawMessage,
    Turn,
    DailyLog,
    Summary,
    Entity,
    Fact,
    SessionManifest,
    Mentions,
    SessionFacts,
    Meta,
)
"""Every tier a store holds."""

TIERS: dict[str, type[Document]] = {
    "raw": RawMessage,
    "turns": Turn,
    "daily-logs": DailyLog,
    "summaries": Summary,
    "entities": Entity,
    "facts": Fact,
}
"""The tiers by the names that commands and blocks use."""
