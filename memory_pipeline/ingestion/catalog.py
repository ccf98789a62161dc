"""Which file a session id stands for, and the redactor that its text goes through."""

from __future__ import annotations

from functools import cached_property, lru_cache
from pathlib import Path

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.indexing import manifest_of
from memory_pipeline.redaction import Redactor, load_key
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
        return _redactor(self.settings.data_dir)

    def find(self, session_id: str, store: MemoryStore) -> SessionFile:
        """The session's file as found in the sessions folder, else where it was when it was last recorded.

        Raises InputError where there is none; what was ingested of it stays in the store.
        """
        try:
            found = self.files.get(session_id)
        except InputError:
            found = None  # the folder may be elsewhere by now; the manifest still knows the file
        return found or self.recorded(session_id, store)

    def recorded(self, session_id: str, store: MemoryStore) -> SessionFile:
        """The session's file where its manifest says it is. Raises InputError where it is not."""
        manifest = manifest_of(store, session_id)
        if manifest is None:
            raise InputError(f"Session {session_id} is no file of the sessions folder; check MEMORY_SESSIONS_DIR.")
        file = session_file(Path(manifest.path), self.settings) if Path(manifest.path).is_file() else None
        if file is None or file.session_id != session_id:
            raise InputError(f"Session {session_id} has no file any more; what was read of it before is kept.")
        return file


@lru_cache(maxsize=4)
def _redactor(data_dir: Path) -> Redactor:
    """One for the process: compiling its rules takes seconds."""
    return Redactor(data_dir / "redaction", load_key(data_dir))
