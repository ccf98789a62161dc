"""Which file a session id stands for, and the redactor that its text goes through."""

from __future__ import annotations

from functools import cached_property, lru_cache
from pathlib import Path
from typing import NoReturn

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.indexing import manifest_of
from memory_pipeline.redaction import Redactor, load_custom, load_key
from memory_pipeline.sessions import Discovery, SessionFile, discover, session_file
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import MemoryStore


class Catalog:
    """The session files that the settings lead to, listed when first asked for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def discovery(self) -> Discovery:
        return discover(self.settings)

    @cached_property
    def files(self) -> dict[str, SessionFile]:
        """Session id → file."""
        return {file.session_id: file for file in self.discovery.files}

    @property
    def redactor(self) -> Redactor:
        settings = self.settings
        return _redactor(settings.data_dir, settings.redact_patterns, settings.redact_allow)

    def find(self, session_id: str, store: MemoryStore) -> SessionFile:
        """The session's file as found in the sessions folder, else where it was when it was last recorded.

        Raises InputError where there is none; what was ingested of it stays in the store.
        """
        return self._listed(session_id) or self._recorded(session_id, store) or self._nowhere(session_id)

    def recorded(self, session_id: str, store: MemoryStore) -> SessionFile:
        """The same, but asking the store first: it was recorded a moment ago, and the folder need not be listed."""
        return self._recorded(session_id, store) or self._listed(session_id) or self._nowhere(session_id)

    def _listed(self, session_id: str) -> SessionFile | None:
        try:
            return self.files.get(session_id)
        except InputError:
            return None  # the folder may be elsewhere by now; the manifest still knows the file

    def _recorded(self, session_id: str, store: MemoryStore) -> SessionFile | None:
        manifest = manifest_of(store, session_id)
        if manifest is None or not Path(manifest.path).is_file():
            return None
        file = session_file(Path(manifest.path), self.settings)
        return file if file.session_id == session_id else None

    def _nowhere(self, session_id: str) -> NoReturn:
        raise InputError(
            f"Session {session_id} has no file in the sessions folder; check MEMORY_SESSIONS_DIR. "
            "What was read of it before is kept."
        )


@lru_cache(maxsize=4)
def _redactor(data_dir: Path, patterns: Path | None, allow: Path | None) -> Redactor:
    """One for the process: compiling its rules takes seconds."""
    return Redactor(data_dir / "redaction", load_key(data_dir), load_custom(patterns, allow))
