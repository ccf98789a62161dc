"""What there is to do, decided from plain values: which files differ from the store, which sessions wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from memory_pipeline.documents import FINISHED, SessionManifest, Summary, Turn
from memory_pipeline.sessions import READER_VERSION, SessionFile
from memory_pipeline.stores.contract import Exclude, MemoryStore


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Files by what has to happen to them, in the order found (oldest first)."""

    new: tuple[SessionFile, ...]
    changed: tuple[SessionFile, ...]
    unchanged: int

    @property
    def due(self) -> tuple[SessionFile, ...]:
        return self.new + self.changed


def plan_index(files: Iterable[SessionFile], store: MemoryStore) -> IndexPlan:
    """Compare the files with the manifests by path, size and time of change; no file is opened."""
    manifests = {m.doc_id: m for m in store.scan(SessionManifest)}
    new: list[SessionFile] = []
    changed: list[SessionFile] = []
    unchanged = 0
    for file in files:
        manifest = manifests.get(file.session_id)
        if manifest is None:
            new.append(file)
        elif is_current(manifest, file):
            unchanged += 1
        else:
            changed.append(file)
    return IndexPlan(tuple(new), tuple(changed), unchanged)


def same_file(manifest: SessionManifest, file: SessionFile) -> bool:
    """Whether the file is where and as the manifest has it. A path that held a secret can't be compared."""
    return (manifest.size, manifest.mtime_ns) == (file.size, file.mtime_ns) and (
        manifest.path == str(file.path) or "[redacted:" in manifest.path
    )


def is_current(manifest: SessionManifest, file: SessionFile) -> bool:
    """Whether the session is indexed as the file stands, messages and turns included."""
    return (
        manifest.quarantine is None
        and manifest.reader_version == READER_VERSION
        and manifest.rules_version is not None  # else it was read before secrets were marked
        and same_file(manifest, file)
        and manifest.content_sha256 == manifest.indexed_sha256 == manifest.grouped_sha256
    )


@dataclass(frozen=True, slots=True)
class Waiting:
    """Sessions with work for the model, newest first, and what they hold."""

    sessions: tuple[str, ...]
    turns: int
    vectors: int


def failed_sessions(store: MemoryStore) -> tuple[str, ...]:
    """Sessions with turns whose distilling failed, or with memories that got no vector."""
    failed = store.group_count(
        Turn, "session_id", {"distillation.state": Exclude((*FINISHED, "pending")), "copy_of": None}
    )
    return tuple(sorted(failed.keys() | _without_vectors(store).keys()))


def waiting_sessions(
    store: MemoryStore, *, redo: Mapping[str, str] = MappingProxyType({}), fresh_only: bool = False
) -> Waiting:
    """Sessions with turns to distil or memories without a vector.

    ``redo``: finished turns that are to be done again (turn id → session id). ``fresh_only``: turns that failed before
    do not count.
    """
    found = store.group_count(
        Turn,
        "session_id",
        {"distillation.state": "pending" if fresh_only else Exclude(FINISHED), "copy_of": None},
    )
    turns = Counter(found) + Counter(redo.values())
    vectors = _without_vectors(store)
    wanted = turns.keys() | vectors.keys()
    manifests = store.get(SessionManifest, sorted(wanted))
    newest = sorted(manifests, key=lambda m: (m.ended_at, m.doc_id), reverse=True)
    return Waiting(tuple(m.doc_id for m in newest), turns.total(), sum(vectors.values()))


def _without_vectors(store: MemoryStore) -> dict[str, int]:
    """Session id → its memories that have no vector."""
    found: dict[str, int] = {}
    for summary in store.scan(Summary, {"embedding_model": None}):
        session_id = summary.source_refs[0].session_id
        found[session_id] = found.get(session_id, 0) + 1
    return found


def stretches(wanted: Collection[str], order: Sequence[str], size: int) -> list[list[str]]:
    """``wanted`` keys cut into runs of at most ``size`` that are contiguous in ``order``, in that order.

    Dagster batches only contiguous ranges of dynamic partitions, and their order is that of insertion.
    """
    wanted = set(wanted)
    found: list[list[str]] = []
    previous = -2
    for position, key in enumerate(order):
        if key not in wanted:
            continue
        if position == previous + 1 and len(found[-1]) < size:
            found[-1].append(key)
        else:
            found.append([key])
        previous = position
    return found


def newest_stretch(newest_first: Sequence[str], order: Sequence[str], size: int) -> list[str]:
    """The contiguous run of at most ``size`` waiting keys that ends with or holds the newest of them.

    Keys beside the newest are taken from the older side first: that is where the rest of a backlog lies.
    """
    if not newest_first:
        return []
    waiting = set(newest_first)
    place = {key: i for i, key in enumerate(order)}
    start = stop = place[newest_first[0]]
    while stop - start + 1 < size and start > 0 and order[start - 1] in waiting:
        start -= 1
    while stop - start + 1 < size and stop + 1 < len(order) and order[stop + 1] in waiting:
        stop += 1
    return list(order[start : stop + 1])


def settled(
    files: Iterable[tuple[Path, int]], watermark_ns: int, *, now_ns: int, settle_ns: int, cap: int
) -> tuple[list[Path], int]:
    """Files (path, mtime in ns) that changed after the watermark and have been quiet since, oldest first; and the new
    watermark.

    One inequality does debounce (still written: past the horizon) and growth (a new mtime is past the watermark). Of
    more than ``cap`` files the rest waits for the next call. Files restored with old times are the night's.
    """
    horizon = now_ns - settle_ns
    due = sorted((mtime, path) for path, mtime in files if watermark_ns < mtime <= horizon)
    if len(due) <= cap:
        return [path for _, path in due], max(watermark_ns, horizon)
    last = due[cap - 1][0]
    taken = [path for mtime, path in due if mtime <= last]  # files of one instant go together
    return taken, last
