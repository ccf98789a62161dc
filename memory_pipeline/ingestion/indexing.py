"""One session file into the store: its manifest, its messages, its turns.

Three steps, each of which finds out by itself whether it has anything to do, so that any of them can be run again
at any time. The manifest's three hashes say how far a session has come (see documents.SessionManifest).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memory_pipeline.batches import batched_by
from memory_pipeline.documents import Problem, RawMessage, SessionManifest
from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.ingestion.families import relatives
from memory_pipeline.ingestion.grouping import group_session, stored_messages
from memory_pipeline.ingestion.history import Places, is_poorer, is_same
from memory_pipeline.ingestion.planning import same_file
from memory_pipeline.ingestion.repairing import known_secrets, redacted, repair_session, tell_family
from memory_pipeline.redaction import Redactor, SessionSecrets
from memory_pipeline.sessions import (
    READER_VERSION,
    MessageContext,
    SavedOutline,
    SessionFile,
    build_manifest,
    load_outline,
    messages,
    outline,
    project_of,
    save_outline,
)
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import MemoryStore, Range, Refused

BATCH = 200  # messages compared and written at a time, which makes for short transactions
BATCH_CHARS = 2_000_000  # or fewer, where they are long


@dataclass(frozen=True, slots=True)
class Recorded:
    """What raw_sessions found in one file."""

    manifest: SessionManifest
    changed: bool


@dataclass(slots=True)
class Ingested:
    """What memory_raw or turn_groups did with one session, in documents."""

    written: int = 0
    unchanged: int = 0
    kept: int = 0
    copies: int = 0
    refused: tuple[Refused, ...] = ()


def record_session(file: SessionFile, *, store: MemoryStore, redactor: Redactor, settings: Settings) -> Recorded:
    """Read the file's structure and store its manifest. A file that can't be read is quarantined, not raised."""
    stored = manifest_of(store, file.session_id)
    if stored is not None and _same_file(stored, file):
        return Recorded(stored, changed=False)
    try:
        shape = outline(file, load_outline(_outlines(settings), file.session_id))
        project = project_of(shape.header.cwd)
        secrets = redactor.session(stored.secrets if stored is not None else ())
        manifest = build_manifest(file, shape, secrets, settings.origin, project)
    except (InputError, OSError) as error:
        path, reason = (redactor.redact(text).text for text in (str(file.path), str(error)))
        manifest = _quarantined(file, stored, path, reason, settings)
    if stored is not None:
        manifest = manifest.model_copy(update=_carried_over(stored, manifest))
    write_manifest(store, manifest)
    return Recorded(manifest, changed=stored is None or stored.content_sha256 != manifest.content_sha256)


def ingest_messages(file: SessionFile, *, store: MemoryStore, redactor: Redactor, settings: Settings) -> Ingested:
    """Store the file's messages. What was ingested in full is never replaced by something poorer.

    Raises InputError where the file changed so much while being read that it has to be read again.
    """
    manifest = require_manifest(store, file.session_id)
    if manifest.quarantine or _is_ingested(manifest):
        return Ingested(unchanged=manifest.messages)
    try:
        return _ingest(file, manifest, store, redactor, settings)
    except InputError as error:  # paths can hold secrets, and this goes into logs
        raise InputError(redactor.redact(str(error)).text) from None


def _ingest(
    file: SessionFile, manifest: SessionManifest, store: MemoryStore, redactor: Redactor, settings: Settings
) -> Ingested:
    family = relatives(manifest, store)
    marks = sorted({mark for member in (manifest, *family) for mark in member.secrets})
    earlier = None if marks else _resumable(manifest, store, settings)
    shape = outline(file, earlier)
    start = 0 if earlier is None else min(shape.resumed_at, shape.changed_from)
    context = MessageContext(
        session_id=file.session_id,
        project=manifest.project,
        origin=manifest.origin,
        message_cap=settings.message_cap,
    )
    reread = manifest.indexed_sha256 is None
    secrets = redactor.session(marks)
    whole = None if start else file.session_id
    found = messages(shape, context, secrets, start=start)
    taken = _take_in(found, store, secrets, reread=reread, session_id=whole)
    if taken is None:
        places = Places(stored_messages(file.session_id, store))
        start, secrets = 0, redactor.session(marks)
        taken = _take_in(messages(shape, context, secrets), store, secrets, reread=reread, places=places)
        assert taken is not None, "with places every message has its own"
    before = int(shape.entries.are_messages()[:start].sum())
    lost = store.count(RawMessage, {"session_id": file.session_id}) - taken.seen - before
    if secrets.known and (taken.met or before or lost > 0):
        # What was stored before a secret was known may hold it, and what was made of that.
        repair_session(file.session_id, known_secrets(secrets), store=store)
    tell_family(family, secrets, store=store)
    history = _history_problems(taken.kept, lost)
    manifest = manifest.model_copy(
        update={
            "indexed_sha256": shape.content_sha256,
            "content_sha256": shape.content_sha256,
            "problems": manifest.problems + history + _refusals(taken.refused),
            "problem_count": manifest.problem_count + len(history) + len(taken.refused),
            "secrets": secrets.marks,
            "rules_version": manifest.rules_version if start else redactor.rules_version,
        }
    )
    write_manifest(store, redacted([manifest], known_secrets(secrets))[0])
    save_outline(_outlines(settings), file.session_id, shape)
    return Ingested(written=taken.written, unchanged=taken.unchanged, kept=taken.kept, refused=tuple(taken.refused))


def _resumable(manifest: SessionManifest, store: MemoryStore, settings: Settings) -> SavedOutline | None:
    """What reading may begin with instead of the file's start.

    Only if all before it is stored, and holds no secret: what is new may repeat one without being recognised by itself.
    """
    earlier = load_outline(_outlines(settings), manifest.doc_id)
    if earlier is None or earlier.content_sha256 != manifest.indexed_sha256:
        return None
    secrets = store.count(RawMessage, {"session_id": manifest.doc_id, "redactions": Range(gte=1)})
    return None if secrets else earlier


def _outlines(settings: Settings) -> Path:
    return settings.data_dir / "outlines"


@dataclass(slots=True)
class _Taken:
    """What became of a file's messages, in documents.

    ``met``: those that were stored before; ``kept``: those of them whose stored text is richer.
    """

    seen: int = 0
    met: int = 0
    written: int = 0
    unchanged: int = 0
    kept: int = 0
    refused: list[Refused] = field(default_factory=list)


def _take_in(
    found: Iterable[RawMessage],
    store: MemoryStore,
    secrets: SessionSecrets,
    *,
    reread: bool,
    session_id: str | None = None,
    places: Places | None = None,
) -> _Taken | None:
    """Store the messages of a file; None as soon as one stands where the store has another, and places are needed.

    ``session_id``: where the file is read whole, so that messages which moved to a free place are noticed too.
    """
    taken = _Taken()
    known = places is None and session_id is not None and store.count(RawMessage, {"session_id": session_id}) > 0
    for batch in batched_by(found, BATCH, lambda message: len(message.content), BATCH_CHARS):
        placed = batch if places is None else [places.place(message) for message in batch]
        stored = {message.doc_id: message for message in store.get(RawMessage, [m.doc_id for m in placed])}
        free = [message.entry_id for message in placed if message.doc_id not in stored and message.entry_id]
        if known and free and store.count(RawMessage, {"session_id": session_id, "entry_id": free}):
            return None  # it has moved to a place where the store has none
        fresh: list[RawMessage] = []
        for message in placed:
            old = stored.get(message.doc_id)
            if old is None:
                fresh.append(message)
                continue
            if places is None and not is_same(old, message):
                return None
            taken.met += 1
            poorer = is_poorer(old, message, reread=reread)
            taken.kept += poorer
            fresh.append(
                _kept(old, message, secrets) if poorer else message.model_copy(update={"copy_of": old.copy_of})
            )
        result = store.upsert(RawMessage, fresh)
        taken.seen += len(batch)
        taken.written += result.written
        taken.unchanged += result.unchanged
        taken.refused.extend(result.refused)
    return taken


def _kept(old: RawMessage, new: RawMessage, secrets: SessionSecrets) -> RawMessage:
    """The stored message with its place in today's tree, and without the secrets that are known today."""
    place = {"on_active_path": new.on_active_path, "parent_entry_id": new.parent_entry_id}
    return redacted([old.model_copy(update=place)], known_secrets(secrets))[0]


def build_turns(session_id: str, *, store: MemoryStore) -> Ingested:
    """Group the session's stored messages into turns. A turn whose text is new or changed waits to be distilled."""
    manifest = require_manifest(store, session_id)
    if manifest.indexed_sha256 is None or manifest.grouped_sha256 == manifest.indexed_sha256:
        return Ingested(unchanged=manifest.turns)
    done = group_session(session_id, store=store)
    write_manifest(store, manifest.model_copy(update={"grouped_sha256": manifest.indexed_sha256}))
    return Ingested(written=done.written, unchanged=done.unchanged, copies=done.copies, refused=tuple(done.refused))


def manifest_of(store: MemoryStore, session_id: str) -> SessionManifest | None:
    return next(iter(store.get(SessionManifest, [session_id])), None)


def require_manifest(store: MemoryStore, session_id: str) -> SessionManifest:
    """The session's manifest; InputError where raw_sessions has not run for it."""
    manifest = manifest_of(store, session_id)
    if manifest is None:
        raise InputError(f"Session {session_id} is not recorded yet; materialize raw_sessions for it first.")
    return manifest


def write_manifest(store: MemoryStore, manifest: SessionManifest) -> None:
    result = store.upsert(SessionManifest, [manifest])
    for refused in result.refused:
        raise StoreError(f"The manifest of session {refused.doc_id} was not stored: {refused.field} {refused.reason}.")


def _same_file(stored: SessionManifest, file: SessionFile) -> bool:
    return stored.reader_version == READER_VERSION and same_file(stored, file) and stored.quarantine is None


def _carried_over(stored: SessionManifest, new: SessionManifest) -> dict[str, object]:
    """What a new manifest takes from the stored one: how far the session has come, unless another reader read it.

    The project stays too: the repository it was found in may be gone from this machine by now. So does what ingesting
    found, where the content is the same: it has no reason to look again.
    """
    same_reader = stored.reader_version == new.reader_version
    ingested = same_reader and stored.indexed_sha256 == new.content_sha256
    found = [p for p in stored.problems if ingested and p.line == 0 and p not in new.problems]
    # What these say was redacted with all that the session tells; the new ones were looked at alone.
    same = {"name": stored.name, "cwd": stored.cwd, "header": stored.header} if ingested else {}
    return {
        **same,
        "problems": new.problems + found,
        "problem_count": new.problem_count + len(found),
        "indexed_sha256": stored.indexed_sha256 if same_reader else None,
        "grouped_sha256": stored.grouped_sha256 if same_reader else None,
        "secrets": stored.secrets,
        "rules_version": stored.rules_version,
        "project": stored.project if ingested or stored.cwd == new.cwd else new.project,
    }


def _is_ingested(manifest: SessionManifest) -> bool:
    return manifest.indexed_sha256 == manifest.content_sha256 and manifest.rules_version is not None


def _history_problems(kept: int, lost: int) -> list[Problem]:
    if not kept and lost <= 0:
        return []
    reason = (
        f"the file was rewritten: {max(lost, 0)} messages are gone and {kept} say less than before; "
        "what was ingested is kept"
    )
    return [Problem(line=0, reason=reason)]


def _refusals(refused: Sequence[Refused]) -> list[Problem]:
    return [Problem(line=0, reason=f"message {r.doc_id} was not stored: {r.field} {r.reason}") for r in refused[:20]]


def _quarantined(
    file: SessionFile, stored: SessionManifest | None, path: str, reason: str, settings: Settings
) -> SessionManifest:
    """The manifest of a file that could not be read: what was known of it stays."""
    if stored is not None:
        return stored.model_copy(update={"quarantine": reason})
    return SessionManifest.model_validate(
        {
            "doc_id": file.session_id, "path": path, "format": "unreadable", "header": {}, "cwd": "",
            "project": "", "origin": settings.origin, "started_at": "1970-01-01T00:00:00.000Z",
            "ended_at": "1970-01-01T00:00:00.000Z", "entries": 0, "messages": 0, "turns": 0, "branches": 0,
            "size": file.size, "mtime_ns": file.mtime_ns, "content_sha256": "", "reader_version": READER_VERSION,
            "problems": [{"line": 0, "reason": reason}], "problem_count": 1, "quarantine": reason,
        }
    )  # fmt: skip
