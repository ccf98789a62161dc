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
from memory_pipeline.ingestion.families import families
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
    "content_sha256", "indexed_sha256", "grouped_sha256", "forked_from", "secrets",
}  # fmt: skip
"""Fields by which documents find each other: they hold no text."""


def repair_store(redactor: Redactor, *, store: MemoryStore, watch: Callable[[], None]) -> dict[str, int]:
    """Look at all that is stored with today's rules; session id → how many of its documents held secrets.

    Each session is looked at as a whole, as when it is read, and together with its forks. ``watch`` is called after
    each.
    """
    changed: dict[str, int] = {}
    for family in families(store):
        changed |= _repair_family(family, redactor, store, watch)
    notes = list(store.scan(Meta))  # among them memories that people have hidden
    for old, new in zip(notes, redacted(notes, redactor.redact_many), strict=True):
        if new != old:
            _replace(old, new, store)
    return {session_id: count for session_id, count in changed.items() if count}


def _repair_family(
    family: Sequence[str], redactor: Redactor, store: MemoryStore, watch: Callable[[], None]
) -> dict[str, int]:
    secrets = redactor.session({mark for member in store.get(SessionManifest, family) for mark in member.secrets})
    for session_id in family:
        for batch in _batches(_everything(session_id, store)):
            secrets.learn([text for document in batch for text in texts_of(document)])
    changed: dict[str, int] = {}
    for session_id in family:
        if secrets.known:
            changed[session_id] = repair_session(session_id, secrets.redact_again, store=store)
        _note(session_id, secrets, store, rules_version=redactor.rules_version)
        watch()
    return changed


def tell_family(family: Iterable[SessionManifest], secrets: SessionSecrets, *, store: MemoryStore) -> None:
    """Take what a session's secrets are out of its relatives too, where they don't know of them yet."""
    if not secrets.known:
        return
    marks = set(secrets.marks)
    for relative in family:
        if not marks.issubset(relative.secrets):
            repair_session(relative.doc_id, known_secrets(secrets), store=store)
            _note(relative.doc_id, secrets, store)


def _note(session_id: str, secrets: SessionSecrets, store: MemoryStore, **fields: str) -> None:
    for manifest in store.get(SessionManifest, [session_id]):
        marks = sorted({*manifest.secrets, *secrets.marks})
        _store(manifest.model_copy(update={"secrets": marks, **fields}), store)


def repair_session(session_id: str, redact: Redact, *, store: MemoryStore) -> int:
    """Redact what is stored of a session, message by message and in all that was made of it.

    Returns how many documents changed. Run again after a crash, it goes on: what is repaired stays as it is. Until all
    is, the session counts as not grouped, so that the next run puts its turns right in any case.
    """
    changed = 0
    turns: set[str] = set()
    telling: list[tuple[Document, Document]] = []
    grouped, stopped = _grouped_as(session_id, store)
    for batch in _batches(_everything(session_id, store)):
        for old, new, tells in zip(batch, *_redacted(batch, redact), strict=True):
            if new == old:
                continue
            changed += 1
            if isinstance(new, (RawMessage, Turn)):
                if not turns:
                    _set_grouped(session_id, None, store)
                turns.add(new.turn_id)
            if tells:
                telling.append((old, new))
            else:
                _replace(old, new, store)
    # Those by which the secrets are recognised come last: a crash before them leaves all that is needed to go on.
    for old, new in telling:
        if isinstance(new, SessionManifest) and turns:
            new = new.model_copy(update={"grouped_sha256": None})  # noqa: PLW2901
        _replace(old, new, store)
    if turns or stopped:
        group_session(session_id, store=store, repaired=turns)
        _set_grouped(session_id, grouped, store)
    return changed


def _grouped_as(session_id: str, store: MemoryStore) -> tuple[str | None, bool]:
    """What its turns are built from, and whether an earlier repair was stopped before it had grouped them again."""
    for manifest in store.get(SessionManifest, [session_id]):
        if manifest.grouped_sha256 is None and manifest.indexed_sha256 == manifest.content_sha256:
            return manifest.indexed_sha256, True
        return manifest.grouped_sha256, False
    return None, False


def _set_grouped(session_id: str, sha256: str | None, store: MemoryStore) -> None:
    for manifest in store.get(SessionManifest, [session_id]):
        _store(manifest.model_copy(update={"grouped_sha256": sha256}), store)


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
    _store(new, store)
    if new.doc_id != old.doc_id:
        store.delete(type(old), {"doc_id": old.doc_id})


def _store(document: Document, store: MemoryStore) -> None:
    for refused in store.upsert(type(document), [document]).refused:
        raise StoreError(f"{refused.doc_id} was not repaired: {refused.field} {refused.reason}.")


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
