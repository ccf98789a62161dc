"""Pass 2: the messages of a session, read again by their place in the file, redacted, as documents of memory-raw."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from memory_pipeline.batches import batched_by
from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.errors import InputError
from memory_pipeline.redaction import Redactor, SessionSecrets
from memory_pipeline.sessions.content import Content, content_of, short
from memory_pipeline.sessions.files import open_regular
from memory_pipeline.sessions.framing import Record
from memory_pipeline.sessions.outline import Entry, Outline
from memory_pipeline.sessions.text import clean, shorten
from memory_pipeline.sessions.tree import ROOT

_BATCH_CHARS = 1 << 20
_BATCH_MESSAGES = 1_000
_PI_ID = re.compile(r"[0-9a-f]{8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The ids that pi makes are no secrets, and each message has two of them."""


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What a session's messages carry beside what the file says. ``message_cap`` in characters."""

    session_id: str
    project: str
    origin: str
    message_cap: int


def messages(
    outline: Outline, context: MessageContext, secrets: Redactor | SessionSecrets, *, start: int = 0
) -> Iterator[RawMessage]:
    """Every message of the file from entry ``start`` on, in file order; a few MB of them in memory at a time.

    All text is looked at before the first message is yielded, so that a secret goes also where it stands before the
    place it is recognised by; ``secrets`` then knows those of this file. Raises InputError where the file is gone, or
    an entry is not where the outline saw it (pi rewrites a file when it migrates it): make a new outline then.
    """
    if isinstance(secrets, Redactor):
        secrets = secrets.session()
    writer = _Writer(outline, context, secrets)
    with open_regular(outline.path) as stream:
        header = outline.header
        names: set[str] = {
            *writer.names,
            *(clean(text or "") for text in (outline.name, header.id, header.parent_session)),
        }
        for batch in _batches(stream, outline, start):
            secrets.learn([content.text for _, content in batch])
            names.update(name for _, content in batch for name in content.names)
        secrets.learn(sorted(names))
        for batch in _batches(stream, outline, start):
            yield from writer.write(batch)


def contents(outline: Outline) -> Iterator[list[Content]]:
    """What the messages of the file say, in file order, a few MB at a time. Not redacted. Raises as ``messages``."""
    with open_regular(outline.path) as stream:
        for batch in _batches(stream, outline, 0):
            yield [content for _, content in batch]


def _batches(stream: BinaryIO, outline: Outline, start: int) -> Iterator[list[tuple[int, Content]]]:
    """The contents of the file's messages, each with the index of its entry."""
    found = (
        (index, content_of(_read(stream, entry, outline)))
        for index, entry in enumerate(outline.entries)
        if index >= start and entry.is_message
    )
    return batched_by(found, _BATCH_MESSAGES, lambda pair: len(pair[1].text), _BATCH_CHARS)


def _read(stream: BinaryIO, entry: Entry, outline: Outline) -> Record:
    try:
        stream.seek(entry.offset)
        raw = stream.read(entry.length)
    except OSError as error:
        raise InputError(f"{outline.path} cannot be read: {error.strerror}.") from None
    record = entry.record_in(raw)
    if record is None:
        raise InputError(
            f"{outline.path} changed while it was being read: the entry of line {entry.line} is not there any more. "
            "Nothing is lost; it is read again at the next run."
        )
    return record


class _Writer:
    """Turns contents into documents: counts them per turn, redacts every string of them."""

    def __init__(self, outline: Outline, context: MessageContext, secrets: SessionSecrets) -> None:
        self._outline = outline
        self._context = context
        self._secrets = secrets
        self._redacted: dict[str, str] = {}
        self._indices = outline.message_indices()

    @property
    def names(self) -> tuple[str, ...]:
        """What the messages have in common."""
        return clean(self._outline.header.cwd), clean(self._context.project), clean(self._context.origin)

    def write(self, batch: Sequence[tuple[int, Content]]) -> Iterator[RawMessage]:
        texts = self._secrets.redact([content.text for _, content in batch])
        for (index, content), redacted in zip(batch, texts, strict=True):
            yield self._document(index, content, redacted.text, redacted.count)

    def _document(self, index: int, content: Content, text: str, redactions: int) -> RawMessage:
        session_id, cap = self._context.session_id, self._context.message_cap
        entry, tree = self._outline.entries[index], self._outline.tree
        turn_index = tree.turn_index[index]
        turn_id = Turn.make_id(session_id, turn_index)
        message_index = self._indices[index]
        parent = tree.parents[index]
        cwd, project, origin = (self._name(name) for name in self.names)
        names = [self._name(name) for name in content.tool_names]
        # The hash is of all that was read, so that two long messages that differ in the middle stay two.
        kept, left_out = shorten(text, cap - cap // 4, cap // 4, left_out=content.left_out)
        return RawMessage(
            doc_id=RawMessage.make_id(session_id, turn_id, message_index),
            session_id=session_id,
            turn_id=turn_id,
            turn_index=turn_index,
            message_index=message_index,
            role=self._name(content.role),
            content=kept,
            tool_name=(names[0] if len(names) == 1 else names) if names else None,
            session_started_at=self._outline.session_started_at,
            message_timestamp=entry.timestamp,
            model=self._optional(content.model),
            provider=self._optional(content.provider),
            entry_id=self._id(entry.id),
            parent_entry_id=None if parent == ROOT else self._id(self._outline.entries[parent].id),
            on_active_path=tree.on_active_path[index],
            kind=content.kind,
            cwd=cwd,
            project=project,
            origin=origin,
            is_error=content.is_error,
            truncated_chars=left_out,
            thinking_chars=content.thinking_chars,
            redactions=redactions,
            content_sha256=hashlib.sha256(text.encode()).hexdigest(),
        )

    def _name(self, text: str) -> str:
        """A short string, redacted; the same few come with every message, so each is scanned once."""
        if text not in self._redacted:
            self._redacted[text] = self._secrets.redact_one(text).text
        return self._redacted[text]

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self._name(text)

    def _id(self, text: str | None) -> str | None:
        if text is None or _PI_ID.fullmatch(text):
            return text
        return self._secrets.redact_one(short(text)).text
