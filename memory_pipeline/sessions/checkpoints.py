"""OpenClaw's copies of a session file, which it lays beside the session before it compacts it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.sessions.files import open_regular

_NAME = re.compile(r"(.+)\.checkpoint\.[^.]+\.jsonl")
_COMPARED = 64 << 10


def refuse_held_checkpoint(path: str) -> None:
    """Raises NotASession for a checkpoint whose session still begins with all that it holds.

    Another checkpoint is a session of its own, whose turns count as copies: its session was cut or is gone.
    """
    folder, name = os.path.split(path)
    if match := _NAME.fullmatch(name):
        session = Path(folder) / f"{match[1]}.jsonl"
        if session.is_file() and _begins_with(session, path):
            raise NotASession(f"{path} is a checkpoint of {session}, which holds all of it.")


def _begins_with(session: Path, checkpoint: str) -> bool:
    """By both ends of the checkpoint: its session only grows, and is compacted by a line that is added."""
    try:
        with open_regular(session) as whole, open_regular(checkpoint) as part:
            tail = max(part.seek(0, os.SEEK_END) - _COMPARED, 0)
            for offset in (0, tail):
                part.seek(offset)
                whole.seek(offset)
                expected = part.read(_COMPARED)
                if whole.read(len(expected)) != expected:
                    return False
    except InputError:
        return False
    return True
