"""One session file into the store: its manifest, its messages, its turns.

Three steps, each of which finds out by itself whether it has anything to do, so that any of them can be run again
at any time. The manifest's three hashes say how far a session has come (see documents.SessionManifest).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_pipeline.documents import DistillationState, Problem, RawMessage, SessionManifest, Turn
from memory_pipeline.errors import InputError, StoreError
from memory_pipeline.ingestion.batches import batched
from memory_pipeline.ingestion.copies import settle_copies
from memory_pipeline.ingestion.planning import same_file
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import (
    READER_VERSION,
    MessageContext,
    SessionFile,
    build_manifest,
    group_turns,
    messages,
    outline,
    project_of,
)
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import MemoryStore, Refused

BATCH = 200  # messages compared and written at a time: some MB at most, and a short transaction


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
        shape = outline(file)
        project = project_of(shape.header.cwd)
        manifest = build_manifest(file, shape, redactor, settings.origin, project)
    except (InputError, OSError) as error:
        manifest = _quarantined(file, stored, redactor.redact(str(error)).text, settings)
    if stored is not None:
        manifest = manifest.model_copy(update=_carried_over(stored, manifest))
    write_manifest(store, manifest)
    return Recorded(manifest, changed=stored is None or stored.content_sha256 != manifest.content_sha256)


def ingest_messages(file: SessionFile, *, store: MemoryStore, redactor: Redactor, settings: Settings) -> Ingested:
    """Store the file's messages. What was ingested in full is never replaced by something poorer.

    Raises InputError where the file changed so much while being read that it has to be read again.
    """
    done = Ingested()
    manifest = require_manifest(store, file.session_id)
    if manifest.quarantine or _is_ingested(manifest):
        done.unchanged = manifest.messages
        return done
    shape = outline(file)
    context = MessageContext(
        session_id=file.session_id,
        project=manifest.project,
        origin=manifest.origin,
        message_cap=settings.message_cap,
    )
    seen = 0
    refused: list[Refused] = []
    for batch in batched(messages(shape, context, redactor), BATCH):
        seen += len(batch)
        fresh, kept = _without_poorer(store, batch, same_reader=manifest.indexed_sha256 is not None)
        result = store.upsert(RawMessage, fresh)
        done.written += result.written
        done.unchanged += result.unchanged
        done.kept += kept
        refused.extend(result.refused)
    done.refused = tuple(refused)
    lost = store.count(RawMessage, {"session_id": file.session_id}) - seen
    manifest = manifest.model_copy(
        update={
            "indexed_sha256": shape.content_sha256,
            "content_sha256": shape.content_sha256,
            "problems": manifest.problems + _history_problems(done.kept, lost) + _refusals(refused),
            "problem_count": manifest.problem_count + (done.kept > 0 or lost > 0) + len(refused),
        }
    )
    write_manifest(store, manifest)
    return done


def build_turns(session_id: str, *, store: MemoryStore) -> Ingested:
    """Group the session's stored messages into turns. A turn whose text is new or changed waits to be distilled."""
    done = Ingested()
    manifest = require_manifest(store, session_id)
    if manifest.indexed_sha256 is None or manifest.grouped_sha256 == manifest.indexed_sha256:
        done.unchanged = manifest.turns
        return done
    raw = store.scan(RawMessage, {"session_id": session_id}, order=("turn_index", "message_index"))
    keys: set[str] = set()
    left: set[str] = set()
    for batch in batched(group_turns(raw), BATCH):
        turns, replaced = _with_state(store, batch)
        keys.update(turn.copy_key for turn in turns)
        left.update(replaced)
        result = store.upsert(Turn, turns)
        done.written += result.written
        done.unchanged += result.unchanged
        done.refused += result.refused
    done.copies = settle_copies(keys, left=left, store=store)
    write_manifest(store, manifest.model_copy(update={"grouped_sha256": manifest.indexed_sha256}))
    return done


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
    return {
        "problems": new.problems + found,
        "problem_count": new.problem_count + len(found),
        "indexed_sha256": stored.indexed_sha256 if same_reader else None,
        "grouped_sha256": stored.grouped_sha256 if same_reader else None,
        "project": stored.project if stored.cwd == new.cwd else new.project,
    }


def _is_ingested(manifest: SessionManifest) -> bool:
    return manifest.indexed_sha256 == manifest.content_sha256


def _without_poorer(
    store: MemoryStore, batch: Sequence[RawMessage], *, same_reader: bool
) -> tuple[list[RawMessage], int]:
    """The messages of a batch that may be written, and how many may not.

    A stored message keeps its place against another one (a rewritten file), and its text against a shorter version
    of itself (old text evicted by a fork of pi, a cut tool output), unless it is only now read differently.
    """
    stored = {m.doc_id: m for m in store.get(RawMessage, [m.doc_id for m in batch])}
    fresh: list[RawMessage] = []
    for message in batch:
        old = stored.get(message.doc_id)
        if old is None or (
            (old.role, old.message_timestamp) == (message.role, message.message_timestamp)
            and (not same_reader or len(message.content) >= len(old.content))
        ):
            fresh.append(message)
    return fresh, len(batch) - len(fresh)


def _history_problems(kept: int, lost: int) -> list[Problem]:
    if not kept and lost <= 0:
        return []
    reason = (
        f"the file was rewritten: {max(lost, 0)} messages are gone and {kept} are other or shorter than before; "
        "what was ingested is kept"
    )
    return [Problem(line=0, reason=reason)]


def _refusals(refused: Sequence[Refused]) -> list[Problem]:
    return [Problem(line=0, reason=f"message {r.doc_id} was not stored: {r.field} {r.reason}") for r in refused[:20]]


def _with_state(store: MemoryStore, turns: Sequence[Turn]) -> tuple[list[Turn], set[str]]:
    """The turns with what is known of their distillation, where their text is still the same; and the copy keys that
    some of them had before.
    """
    stored = {turn.doc_id: turn for turn in store.get(Turn, [turn.doc_id for turn in turns])}
    known: list[Turn] = []
    left: set[str] = set()
    for turn in turns:
        old = stored.get(turn.doc_id)
        if old is None:
            known.append(turn)
            continue
        same = (old.fingerprint, old.on_active_path) == (turn.fingerprint, turn.on_active_path)
        state = old.distillation if same else DistillationState()
        copy_of = old.copy_of if old.copy_key == turn.copy_key else None
        known.append(turn.model_copy(update={"distillation": state, "copy_of": copy_of}))
        if old.copy_key not in ("", turn.copy_key):
            left.add(old.copy_key)
    return known, left


def _quarantined(file: SessionFile, stored: SessionManifest | None, reason: str, settings: Settings) -> SessionManifest:
    """The manifest of a file that could not be read: what was known of it stays."""
    if stored is not None:
        return stored.model_copy(update={"quarantine": reason})
    return SessionManifest.model_validate(
        {
            "doc_id": file.session_id, "path": str(file.path), "format": "unreadable", "header": {}, "cwd": "",
            "project": "", "origin": settings.origin, "started_at": "1970-01-01T00:00:00.000Z",
            "ended_at": "1970-01-01T00:00:00.000Z", "entries": 0, "messages": 0, "turns": 0, "branches": 0,
            "size": file.size, "mtime_ns": file.mtime_ns, "content_sha256": "", "reader_version": READER_VERSION,
            "problems": [{"line": 0, "reason": reason}], "problem_count": 1, "quarantine": reason,
        }
    )  # fmt: skip
