"""Entries that stand in a file once more. Old pi writes the whole prefix of a session again when it finds no answer in
it; either copy may be glued to something else on its line, so the record's own bytes are compared.

Only entries that share their id with another are read again for this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.sessions.bulk import NO_ID
from memory_pipeline.sessions.entries import Rows
from memory_pipeline.sessions.framing import parse_line


def repeated(stream: BinaryIO, rows: Rows) -> NDArray[np.int64]:
    """Indices of the entries whose id and bytes are those of an earlier one, ascending."""
    shared = _shared_ids(rows)
    seen: set[tuple[int, bytes]] = set()
    again: list[int] = []
    for index, digest in zip(shared.tolist(), _digests(stream, rows[shared]), strict=True):
        key = (int(rows["id"][index]), digest)
        if key in seen:
            again.append(index)
        seen.add(key)
    return np.array(again, np.int64)


def _shared_ids(rows: Rows) -> NDArray[np.int64]:
    """Indices of the entries whose id another one has too, ascending."""
    ids = rows["id"]
    ordered = np.sort(ids)
    shared = ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] != NO_ID)]
    return np.flatnonzero(np.isin(ids, shared)) if len(shared) else np.array([], np.int64)


def _digests(stream: BinaryIO, rows: Rows) -> Iterator[bytes]:
    """Of each entry's own bytes. A line is read once, however many of the entries are on it."""
    line = 0
    sources: tuple[bytes, ...] = ()
    for offset, length, number, part in rows[["offset", "length", "line", "part"]].tolist():
        if number != line:
            stream.seek(offset)
            raw = stream.read(length)
            line, sources = number, parse_line(raw).sources or (raw.strip(),)
        source = sources[part] if part < len(sources) else b""  # the file is being changed
        yield hashlib.blake2b(source, digest_size=16).digest()
