"""The manifest of a session file: what its outline says, redacted, as the document of memory-sessions."""

from __future__ import annotations

from memory_pipeline.documents import Header, SessionManifest
from memory_pipeline.redaction import Redactor, SessionSecrets
from memory_pipeline.sessions.files import SessionFile
from memory_pipeline.sessions.identity import forked_from
from memory_pipeline.sessions.outline import READER_VERSION, Outline
from memory_pipeline.sessions.text import clean, shorten

_PROBLEMS = 50
_LONGEST = 2_000


def build_manifest(
    file: SessionFile, outline: Outline, secrets: Redactor | SessionSecrets, origin: str, project: str
) -> SessionManifest:
    """The manifest as raw_sessions stores it: not indexed or grouped yet. Of the problems the first fifty."""
    if isinstance(secrets, Redactor):
        secrets = secrets.session()
    header = outline.header
    redact = secrets.redact_one

    def safe(text: str) -> str:
        return shorten(redact(clean(text)).text, _LONGEST, 0)[0]

    def maybe(text: str | None) -> str | None:
        return None if text is None else safe(text)

    parent_session = maybe(header.parent_session)
    return SessionManifest(
        doc_id=file.session_id,
        path=safe(str(file.path)),
        format=outline.format,
        header=Header(
            id=maybe(header.id),
            version=header.version,
            timestamp=header.timestamp,
            cwd=safe(header.cwd),
            parent_session=parent_session,
        ),
        forked_from=None if parent_session is None else forked_from(parent_session),
        name=maybe(outline.name),
        cwd=safe(header.cwd),
        project=safe(project),
        origin=safe(origin),
        started_at=outline.session_started_at,
        ended_at=outline.ended_at,
        entries=len(outline.entries),
        messages=outline.message_count,
        turns=outline.tree.turns,
        branches=outline.tree.branches,
        size=file.size,
        mtime_ns=file.mtime_ns,
        content_sha256=outline.content_sha256,
        reader_version=READER_VERSION,
        problems=list(outline.problems[:_PROBLEMS]),
        problem_count=outline.problem_count,
    )
