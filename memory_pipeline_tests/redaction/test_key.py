from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.redaction import load_key


def test_the_key_is_made_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    key = load_key(folder)

    assert len(key) == 32
    assert load_key(folder) == key
    assert stat.S_IMODE((folder / "redaction.key").stat().st_mode) == 0o600
    assert load_key(tmp_path / "other") != key


def test_callers_at_the_same_time_get_the_same_key(tmp_path: Path) -> None:
    keys: list[bytes] = []
    threads = [threading.Thread(target=lambda: keys.append(load_key(tmp_path / "data"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(keys) == 16
    assert len(set(keys)) == 1


def test_a_damaged_key_is_refused_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "redaction.key").write_bytes(b"short")

    with pytest.raises(MemoryPipelineError, match="damaged"):
        load_key(tmp_path)
    assert (tmp_path / "redaction.key").read_bytes() == b"short"


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(MemoryPipelineError, match="MEMORY_DATA_DIR"):
        load_key(tmp_path / "file" / "data")


def test_a_leftover_of_a_crash_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / f"redaction.key.{os.getpid()}.tmp").write_bytes(b"half")

    assert len(load_key(tmp_path)) == 32
