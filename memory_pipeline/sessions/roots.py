"""Where pi keeps its session files, by pi's own order of settings."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.errors import InputError
from memory_pipeline.settings import Settings

_SETTINGS_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Root:
    """The sessions folder, who named it, and the folder whose own files count too.

    pi 0.30.0 wrote sessions beside its sessions folder; they are looked for in ``stray`` where the folder is
    pi's default.
    """

    folder: Path
    named_by: str
    stray: Path | None = None


def sessions_root(settings: Settings) -> Root:
    """The root by MEMORY_SESSIONS_DIR, PI_CODING_AGENT_SESSION_DIR, pi's ``sessionDir``, else pi's default.

    A relative ``sessionDir`` is taken from the agent folder, where the file that names it lies. Raises InputError where
    the folder is missing, is no folder or cannot be read: never "no sessions", which would look like their deletion.
    """
    root = named_root(settings)
    try:
        os.scandir(root.folder).close()
    except FileNotFoundError:
        reason = "does not exist. Start pi once, or set MEMORY_SESSIONS_DIR to the folder that holds its sessions"
    except NotADirectoryError:
        reason = "is a file. Set MEMORY_SESSIONS_DIR to the folder that holds pi's sessions"
    except PermissionError:
        reason = "cannot be read: no permission. Give this user the right to read it (chmod u+rx)"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}. Set MEMORY_SESSIONS_DIR to a folder that can"
    else:
        return root
    raise InputError(f"The sessions folder {root.folder} ({root.named_by}) {reason}.")


def named_root(settings: Settings) -> Root:
    """The root by the same order, whether it exists or not."""
    if settings.sessions_dir:
        return Root(settings.sessions_dir, "MEMORY_SESSIONS_DIR")
    if settings.pi_session_dir:
        return Root(settings.pi_session_dir, "PI_CODING_AGENT_SESSION_DIR")
    pi_settings = settings.agent_dir / "settings.json"
    if named := _session_dir(pi_settings):
        return Root(
            settings.agent_dir / os.path.expanduser(named),  # noqa: PTH111  # pathlib's raises for a user that is not there
            f"sessionDir in {pi_settings}",
        )
    return Root(settings.agent_dir / "sessions", "pi's default", stray=settings.agent_dir)


def _session_dir(path: Path) -> str | None:
    """``sessionDir`` of pi's settings; None where the file is missing or broken, as pi itself goes on then."""
    try:
        with path.open("rb") as stream:
            values = json.loads(stream.read(_SETTINGS_LIMIT))
    except (OSError, ValueError, RecursionError):
        return None
    named = values.get("sessionDir") if isinstance(values, dict) else None
    return named if isinstance(named, str) and named.strip() and "\0" not in named else None
