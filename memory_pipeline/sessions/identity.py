"""The rule that gives a session file its id, which is also its partition key.

An id must not depend on what else is found or when, so it is made of the file's own name, header and place alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import PurePath

from memory_pipeline.documents import digest

_LONGEST = 120
_HASH = 16
_FORBIDDEN = re.compile(r"[^0-9A-Za-z._-]")


def session_id(stem: str, ancestors: Sequence[str], header_id: str, folder: str) -> str:
    """The id of a session: what its name holds, what its header says, and failing that, where it lies.

    ``ancestors`` are the stems of the sessions in whose folders the file lies, outermost first; ``folder`` is the path
    that ``place`` gives.
    """
    name = "_".join(map(_utf8, [*ancestors, stem]))
    if not header_id:
        name = f"{name}_{_hash(_utf8(folder))}"
    elif not _holds(name, header_id):
        name = f"{name}_{header_id}"
    return _safe(name)


def place(folder: str, root: str) -> str:
    """The real path of a folder, relative to the sessions folder where it lies below that."""
    real, real_root = os.path.realpath(folder), os.path.realpath(root)
    if real == real_root or real.startswith(real_root.rstrip(os.sep) + os.sep):
        real = os.path.relpath(real, real_root)
    return PurePath(real).as_posix()


def forked_from(parent_session: str) -> str:
    """The id of the session at this path, as far as a path tells: pi's file names hold their header's id."""
    return _safe(PurePath(parent_session.replace("\\", "/")).stem)


def _safe(name: str) -> str:
    safe = _FORBIDDEN.sub("-", name)
    if len(safe) <= _LONGEST:
        return safe
    return f"{safe[: _LONGEST - _HASH - 1]}-{_hash(name)}"


def _hash(text: str) -> str:
    # File names of any bytes come as text that UTF-8 has no form for.
    return digest(text.encode("utf-8", "backslashreplace").decode())[:_HASH]


def _utf8(path: str) -> str:
    """The same text for the same bytes, whatever the machine's locale makes of them."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def _holds(name: str, header_id: str) -> bool:
    # As a whole word: the id "t" is not held by "torn", or unrelated files of one name would share an id.
    start = name.find(header_id)
    while start >= 0:
        before, after = name[start - 1 : start], name[start + len(header_id) :][:1]
        if not before.isalnum() and not after.isalnum():
            return True
        start = name.find(header_id, start + 1)
    return False
