"""Takes secrets out of what is stored already, in every tier: those that a newer rule or a grown session told.

Memories keep their distillation: what was repaired is the same memory without its secret, so no model is asked again.
Vectors go with the text they were made of, and are made anew by the next run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from memory_pipeline.batches import batched_by
from memory_pipeline.documents import (
    DailyLog,
    Document,
    Entity,
    Fact,
    Mentions,
    Meta,
    RawMessage,
    SessionFacts,
    SessionManifest,
    Summary,
    Turn,
)
from memory_pipeline.errors import StoreError
from memory_pipeline.ingestion.grouping import group_session, stored_messages
from memory_pipeline.redaction import Redacted, Redactor, SessionSecrets
from memory_pipeline.stores.contract import MemoryStore

D = TypeVar("D", bound=Document)

Redact: TypeAlias = Callable[[Sequence[str]], Sequence[Redacted]]
"""Texts in, the same texts without secrets out."""

_DERIVED: tuple[type[Document], ...] = (Summary, DailyLog, Entity, Fact, Mentions, SessionFacts)
_BATCH, _BATCH_CHARS = 200, 2_000_000
_LINKS = {
    "doc_id", "session_id", "turn_id", "superseded_by", "former_ids", "copy_of", "copy_key", "fingerprint",
    "content_sha256", "indexed_sha256", "grouped_sha256",
}  # fmt: skip
"""Fields by which documents find each other: they hold no text."""


def repair_store(redactor: Redactor, *, store: MemoryStore, watch: Callable[[], None]) -> dict[str, int]:
    """Look at all that is stored with today's rules; session id → how many of its documents held secrets.

    Each session is looked at as a whole, as when it is read. ``watch`` is called after each.
    """
    changed: dict[str, int] = {}
    for manifest in store.scan(SessionManifest, order=("started_at",)):
        secrets = redactor.session()
        for batch in _batches(_everything(manifest.doc_id, store)):
            secrets.learn([text for document in batch for text in texts_of(document)])
        if secrets.known:
            changed[manifest.doc_id] = repair_session(manifest.doc_id, secrets.redact, store=store)
        watch()
    notes = list(store.scan(Meta))  # among them memories that people have hidden
    for old, new in zip(notes, redacted(notes, redactor.redact_many), strict=True):
        if new != old:
            _replace(old, new, store)
    return {session_id: count for session_id, count in changed.items() if count}


def repair_session(session_id: str, redact: Redact, *, store: MemoryStore) -> int:
    """Redact what is stored of a session, message by message and in all that was made of it.

    ``redact`` gets the texts of :func:`_everything` in that order. Returns how many documents changed. Run again after
    a crash, it goes on: what is repaired stays as it is.
    """
    changed = 0
    turns: set[str] = set()
    telling: list[tuple[Document, Document]] = []
    for batch in _batches(_everything(session_id, store)):
        for old, new, tells in zip(batch, *_redacted(batch, redact), strict=True):
            if new == old:
                continue
            changed += 1
            if isinstance(new, (RawMessage, Turn)):
                turns.add(new.turn_id)
            if tells:
                telling.append((old, new))
            else:
                _replace(old, new, store)
    # Those by which the secrets are recognised come last: a crash before them leaves all that is needed to go on.
    for old, new in telling:
        _replace(old, new, store)
    if turns:
        group_session(session_id, store=store, repaired=turns)
    return changed


def known_secrets(secrets: SessionSecrets) -> Redact:
    """Takes out what is known already, and looks for nothing new."""
    return lambda texts: [secrets.redact_literals(text) for text in texts]


def _everything(session_id: str, store: MemoryStore) -> Iterator[Document]:
    """All documents with text of a session; what is derived is listed before any of it is replaced."""
    yield from store.get(SessionManifest, [session_id])
    yield from stored_messages(session_id, store)
    yield from store.scan(Turn, {"session_id": session_id}, order=("turn_index",))
    for kind in _DERIVED:
        yield from list(store.scan(kind, {"source_refs.session_id": session_id}))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    return batched_by(documents, _BATCH, lambda document: sum(map(len, texts_of(document))), _BATCH_CHARS)


def _replace(old: Document, new: Document, store: MemoryStore) -> None:
    """Store the new document, then remove the old one where their ids differ."""
    for refused in store.upsert(type(new), [new]).refused:
        raise StoreError(f"{refused.doc_id} was not repaired: {refused.field} {refused.reason}.")
    if new.doc_id != old.doc_id:
        store.delete(type(old), {"doc_id": old.doc_id})


def texts_of(document: Document) -> list[str]:
    """Every text of a document, in a fixed order."""
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    _walk(_fields(document), keep)
    return found


def redacted(documents: Sequence[D], redact: Redact) -> list[D]:
    """The documents with every text redacted, and with the ids that follow from that."""
    return _redacted(documents, redact)[0]


def _redacted(documents: Sequence[D], redact: Redact) -> tuple[list[D], list[bool]]:
    """The same, and of each whether a rule recognised something in it."""
    clean = iter(redact([text for document in documents for text in texts_of(document)]))
    found = [_rebuilt(document, clean) for document in documents]
    return [document for document, _ in found], [tells for _, tells in found]


def _rebuilt(document: D, clean: Iterator[Redacted]) -> tuple[D, bool]:
    taken = 0
    tells = False

    def next_text(_: str) -> str:
        nonlocal taken, tells
        found = next(clean)
        taken += found.count
        tells = tells or found.recognised
        return found.text

    fields = _walk(_fields(document), next_text)
    return (_named(document, fields, taken) if taken else document), tells


def _named(document: D, fields: dict[str, Any], taken: int) -> D:
    """The document with other texts, and the ids and hashes that follow from them."""
    new = document.model_validate({**document.model_dump(), **fields})
    if isinstance(new, RawMessage):
        # Of a text that was cut only the ends are there to be hashed.
        sha256 = hashlib.sha256(new.content.encode()).hexdigest()
        return new.model_copy(update={"redactions": new.redactions + taken, "content_sha256": sha256})
    if isinstance(new, Summary):
        home = new.source_refs[0]
        return new.model_copy(update={"doc_id": Summary.make_id(home.session_id, home.turn_id, new.summary)})
    if isinstance(new, DailyLog):
        return new.model_copy(update={"doc_id": DailyLog.make_id(new.source_refs[0].turn_id, new.text)})
    return new


def _fields(document: Document) -> dict[str, Any]:
    hidden = {document.vector_field} if document.vector_field else set()
    return document.model_dump(exclude=_LINKS | hidden)


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each text in it changed, in a fixed order."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: inner if key in _LINKS else _walk(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_walk(inner, change) for inner in value]
    return value
