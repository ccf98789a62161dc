"""pi's session logs → messages → turns. Functions over files and bytes; knows nothing of Dagster, stores or models.

A file is read twice: ``outline`` learns its order, ``messages`` yields its text, redacted. Damage costs the line it
is in and is named; nothing here writes to a session file or waits for one.
"""

from memory_pipeline.sessions.content import is_evicted
from memory_pipeline.sessions.discovery import Discovery, discover, files_below, list_files, session_file
from memory_pipeline.sessions.files import SessionFile
from memory_pipeline.sessions.identity import forked_from
from memory_pipeline.sessions.inspection import Inspection, inspect_file
from memory_pipeline.sessions.manifest import build_manifest
from memory_pipeline.sessions.messages import MessageContext, messages
from memory_pipeline.sessions.outline import READER_VERSION, Entry, Outline, outline
from memory_pipeline.sessions.projects import project_of
from memory_pipeline.sessions.saved import SavedOutline, load_outline, save_outline
from memory_pipeline.sessions.transcript import group_turns

__all__ = [
    "READER_VERSION",
    "Discovery",
    "Entry",
    "Inspection",
    "MessageContext",
    "Outline",
    "SavedOutline",
    "SessionFile",
    "build_manifest",
    "discover",
    "files_below",
    "forked_from",
    "group_turns",
    "inspect_file",
    "is_evicted",
    "list_files",
    "load_outline",
    "messages",
    "outline",
    "project_of",
    "save_outline",
    "session_file",
]
