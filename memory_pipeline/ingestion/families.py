"""Sessions that repeat each other: one, what it was forked from, and what was forked from that.

A secret that one of them tells, the others may hold where no rule recognises it.
"""

from __future__ import annotations

from collections import defaultdict

from memory_pipeline.documents import SessionManifest
from memory_pipeline.sessions import forked_from
from memory_pipeline.stores.contract import MemoryStore, Range


def relatives(manifest: SessionManifest, store: MemoryStore) -> list[SessionManifest]:
    """The session's family as far as it is in the store, without itself, by id."""
    found = {manifest.doc_id: manifest}
    asked: set[str] = set()
    while True:
        parents = {parent for member in found.values() if (parent := _parent(member)) is not None} - asked
        names = {name for member in found.values() for name in _own_names(member)} - asked | parents
        if not names:
            del found[manifest.doc_id]
            return [found[name] for name in sorted(found)]
        asked |= names
        met = [*store.scan(SessionManifest, {"forked_from": sorted(names)})]
        met += [member for parent in sorted(parents) for member in _called(parent, store)]
        found.update({member.doc_id: member for member in met})


def families(store: MemoryStore) -> list[list[str]]:
    """All sessions of the store, each with its family; the oldest first."""
    members: defaultdict[str, list[str]] = defaultdict(list)
    joined: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := joined.get(name, name)) != name:
            name = above
        return name

    for manifest in store.scan(SessionManifest, order=("started_at",)):
        into = root(manifest.doc_id)
        for name in (*_own_names(manifest), *filter(None, [_parent(manifest)])):
            other = root(name)
            if other != into:
                joined[other] = into
                members[into] += members.pop(other, [])
        members[into].append(manifest.doc_id)
    return list(members.values())


def _own_names(manifest: SessionManifest) -> list[str]:
    """What forks of it may call it: its id, its header's, or its file's name where that does not hold its header's."""
    header_id = manifest.header.id
    return (
        [manifest.doc_id]
        if not header_id
        else [manifest.doc_id, header_id, manifest.doc_id.removesuffix(f"_{header_id}")]
    )


def _parent(manifest: SessionManifest) -> str | None:
    """What it calls the session that it was forked from, which need not be in the store."""
    if manifest.forked_from is None and manifest.header.parent_session is not None:  # stored before it was told
        return forked_from(manifest.header.parent_session)
    return manifest.forked_from


def _called(name: str, store: MemoryStore) -> list[SessionManifest]:
    """The sessions that a fork of theirs may call so."""
    found = store.get(SessionManifest, [name])
    if found:
        return found
    behind = Range(gte=f"{name}_", lt=f"{name}`")  # the sign after _
    return [*store.scan(SessionManifest, {"doc_id": behind}), *store.scan(SessionManifest, {"header.id": name})]
