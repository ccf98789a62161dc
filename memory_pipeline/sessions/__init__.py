"""pi's session logs → messages → turns. Functions over files and bytes; knows nothing of Dagster, stores or models.

A file is read twice: ``outline`` learns its order, ``messages`` yields its text, redacted. Damage costs the line it
is in and is named; nothing here writes to a session file or waits for one.
"""

from memory_pipeline.sessions.discovery import Discovery, discover, list_files, session_file
from memory_pipeline.sessions.files import SessionFile
from memory_pipeline.sessions.manifest import build_manifest
from memory_pipeline.sessions.messages import MessageContext, messages
from memory_pipeline.sessions.outline import READER_VERSION, Entry, Outline, outline
from memory_pipeline.sessions.projects import project_of
from memory_pipeline.sessions.transcript import group_turns

__all__ = [
    "READER_VERSION",
    "Discovery",
    "Entry",
    "MessageContext",
    "Outline",
    "SessionFile",
    "build_manifest",
    "discover",
    "group_turns",
    "list_files",
    "messages",
    "outline",
    "project_of",
    "session_file",
]
