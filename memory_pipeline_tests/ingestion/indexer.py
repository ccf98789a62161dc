"""The three steps from a session file to turns in a store, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.documents import RawMessage, SessionManifest, Turn
from memory_pipeline.ingestion.indexing import Ingested, build_turns, ingest_messages, record_session, require_manifest
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import session_file
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import MemoryStore


@dataclass(frozen=True, slots=True)
class Indexed:
    """What each step did with one file, and the session's manifest after them."""

    changed: bool
    raw: Ingested
    turns: Ingested
    manifest: SessionManifest

    @property
    def problems(self) -> list[str]:
        return [problem.reason for problem in self.manifest.problems]


@dataclass(frozen=True, slots=True)
class Indexer:
    """``index(path)`` reads a file into the store, as a run does."""

    settings: Settings
    store: MemoryStore
    redactor: Redactor

    def __call__(self, path: Path) -> Indexed:
        file = session_file(path, self.settings)
        recorded = record_session(file, store=self.store, redactor=self.redactor, settings=self.settings)
        raw = ingest_messages(file, store=self.store, redactor=self.redactor, settings=self.settings)
        turns = build_turns(file.session_id, store=self.store)
        return Indexed(recorded.changed, raw, turns, require_manifest(self.store, file.session_id))

    def messages(self) -> list[RawMessage]:
        return list(self.store.scan(RawMessage, order=("session_id", "turn_index", "message_index")))

    def turns(self) -> list[Turn]:
        return list(self.store.scan(Turn, order=("session_id", "turn_index")))
