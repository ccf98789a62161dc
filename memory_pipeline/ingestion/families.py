"""Sessions that repeat each other: one, what it was forked from, and what was forked from that.

A secret that one of them tells, the others may hold where no rule recognises it.
"""

from __future__ import annotations

from collections import defaultdict

from memory_pipeline.documents import SessionManifest
from memory_pipeline.sessions import forked_from
from memory_pipeline.stores.contract import MemoryStore


def relatives(manifest: SessionManifest, store: MemoryStore) -> list[SessionManifest]:
    """The session's family as far as it is in the store, without itself, by id."""
    found = {manifest.doc_id: manifest}
    asked: set[str] = set()
    while names := {name for member in found.values() for name in _names(member)} - asked:
        asked |= names
        parents = store.get(SessionManifest, sorted(names))
        forks = store.scan(SessionManifest, {"forked_from": sorted(names)})
        found.update({member.doc_id: member for member in (*parents, *forks)})
    del found[manifest.doc_id]
    return [found[name] for name in sorted(found)]


def families(store: MemoryStore) -> list[list[str]]:
    """All sessions of the store, each with its family; the oldest first."""
    members: defaultdict[str, list[str]] = defaultdict(list)
    joined: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := joined.get(name, name)) != name:
            name = above
        return name

    for manifest in store.scan(SessionManifest, order=("started_at",)):
        names = _names(manifest)
        into = root(names[0])
        for name in names[1:]:
            other = root(name)
            if other != into:
                joined[other] = into
                members[into] += members.pop(other, [])
        members[into].append(manifest.doc_id)
    return list(members.values())


def _names(manifest: SessionManifest) -> list[str]:
    """Ids by which its family knows it: its own, and its parent's, which need not be in the store."""
    parent = manifest.forked_from
    if parent is None and manifest.header.parent_session is not None:  # stored before it was told
        parent = forked_from(manifest.header.parent_session)
    return [manifest.doc_id] if parent is None else [manifest.doc_id, parent]
