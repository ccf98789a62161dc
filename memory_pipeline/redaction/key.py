"""The key of the hash that names a secret: 32 random bytes beside the store, never inside it.

A plain hash would let weak passwords be guessed from a shared store; with a key kept on this machine it does not.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from filelock import FileLock

from memory_pipeline.errors import MemoryPipelineError

_NAME = "redaction.key"
_BYTES = 32


def load_key(data_dir: Path) -> bytes:
    """The 32 bytes of ``data_dir/redaction.key``; made at the first call, readable by its owner only.

    Safe when several processes ask at once. Raises MemoryPipelineError where the file cannot be read, written or is
    not a key.
    """
    path = data_dir / _NAME
    try:
        if not path.exists():
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(data_dir / f"{_NAME}.lock"):
                if not path.exists():
                    _create(path)
        key = path.read_bytes()
    except OSError as error:
        raise MemoryPipelineError(
            f"The redaction key {path} cannot be used: {error.strerror}. Give this user access to it, "
            "or set MEMORY_DATA_DIR to a folder of this user's."
        ) from error
    if len(key) != _BYTES:
        raise MemoryPipelineError(
            f"The redaction key {path} is damaged: it has {len(key)} bytes instead of {_BYTES}. Restore it from a "
            "backup; if there is none, delete it and index everything again."
        )
    return key


def _create(path: Path) -> None:
    # A new file is filled first and named last, so that no reader ever meets half a key.
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(secrets.token_bytes(_BYTES))
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)
