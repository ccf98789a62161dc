"""The tree of a session's entries: repaired parents, turns, the active path. Pure functions over the entries' links.

An entry mostly follows the one before it, so the tree is a few stretches of such entries: what holds for the first of
a stretch holds for all of it. Nothing recurses: chains of thousands of entries are common, and damaged files hold
cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.sessions.bulk import NO_ID, NO_PARENT, UNLINKED, Ints
from memory_pipeline.sessions.compact import Column

Flags = NDArray[np.bool_]

ROOT = -1
NO_TURN = -1


@dataclass(frozen=True, slots=True)
class Links:
    """What the tree needs to know of the entries, in file order: keys as ``bulk`` makes them of ids and parents."""

    ids: Ints
    parents: Ints
    users: Flags
    """Whether the entry is a user's message."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One value per entry, in file order."""

    parents: Column[int]
    """Index of the parent, ROOT for none."""
    turn_index: Column[int]
    """NO_TURN before the first user message."""
    on_active_path: Column[bool]
    repaired: Column[int]
    """The entries whose parent was unknown or closed a cycle: they hang on the entry before them."""
    turns: int
    branches: int
    """Ends of the tree: 1 for a straight session, 0 for an empty one."""


def arrange(links: Links) -> Tree:
    parents, repaired = _parents(links)
    inner = np.zeros(len(parents), np.bool_)
    inner[parents[parents != ROOT]] = True
    first = parents != np.arange(-1, len(parents) - 1)  # of a stretch
    first[:1] = True
    users = links.users
    begins = users & ~(users[parents] & (parents != ROOT))
    return Tree(
        parents=_column(parents),
        turn_index=_column(_turns(parents, first | begins, begins)),
        on_active_path=Column(_active(parents, first)),
        repaired=_column(repaired),
        turns=int(begins.sum()),
        branches=int(len(parents) - inner.sum()),
    )


def _column(values: Ints) -> Column[int]:
    return Column(values.astype(np.int32))


def _parents(links: Links) -> tuple[Ints, Ints]:
    """Each entry's parent, and the entries that got theirs by repair.

    A parent is the latest earlier entry with that id. Where only a later one has it (lines out of order), that one,
    unless such links close a cycle somewhere: then none of them is trusted.
    """
    before = np.arange(-1, len(links.ids) - 1)
    wanted = links.parents
    parents = before.copy()
    parents[wanted == NO_PARENT] = ROOT
    previous = np.concatenate([[NO_ID], links.ids[:-1]])[: len(wanted)]
    elsewhere = np.flatnonzero((wanted != previous) & (wanted != UNLINKED) & (wanted != NO_PARENT))
    if not len(elsewhere):
        return parents, elsewhere
    bearers = _Bearers(links.ids)
    earlier = bearers.latest_before(wanted[elsewhere], elsewhere)
    parents[elsewhere] = np.where(earlier >= 0, earlier, before[elsewhere])
    unknown = elsewhere[earlier < 0]
    if not len(unknown):
        return parents, unknown
    later = bearers.first(wanted[unknown])
    forward = later > unknown
    linked = parents.copy()
    linked[unknown[forward]] = later[forward]
    if forward.any() and _has_cycle(linked):
        return parents, unknown
    return linked, unknown[~forward]


class _Bearers:
    """Which entries bear an id, for many ids at once."""

    def __init__(self, ids: Ints) -> None:
        self._order = np.argsort(ids, kind="stable")
        self._known, self._starts = np.unique(ids[self._order], return_index=True)
        self._count = len(ids)
        # An id's rank and an entry's index in one number, ascending.
        ranks = np.repeat(np.arange(len(self._known)), np.diff([*self._starts, self._count]))
        self._pairs = ranks * self._count + self._order

    def latest_before(self, keys: Ints, indices: Ints) -> Ints:
        """For each key the last bearer before the index; negative where there is none."""
        ranks, known = self._ranks(keys)
        places = np.searchsorted(self._pairs, ranks * self._count + indices) - 1
        found = self._order[places]
        return np.where(known & (places >= self._starts[ranks]), found, -1)

    def first(self, keys: Ints) -> Ints:
        """For each key its first bearer; negative where there is none."""
        ranks, known = self._ranks(keys)
        return np.where(known, self._order[self._starts[ranks]], -1)

    def _ranks(self, keys: Ints) -> tuple[Ints, Flags]:
        ranks = np.minimum(np.searchsorted(self._known, keys), len(self._known) - 1)
        return ranks, (self._known[ranks] == keys) & (keys >= 0)


def _has_cycle(parents: Ints) -> bool:
    """Whether some walk along the parents has no end: after as many steps as there are entries it is still going."""
    ends = np.append(parents, len(parents))  # one more entry behind the last, which is where a root's walk stays
    ends[ends == ROOT] = len(parents)
    steps = 1
    while steps < len(ends):
        ends = ends[ends]
        steps *= 2
    return bool((ends != len(parents)).any())


def _turns(parents: Ints, first: Flags, begins: Flags) -> Ints:
    """Each entry's turn by the turn rule; a stretch begins where ``first`` says, and with each turn."""
    heads = np.flatnonzero(first)
    stretch = np.cumsum(first) - 1
    above = np.where(begins[heads] | (parents[heads] == ROOT), np.arange(len(heads)), stretch[parents[heads]])
    while True:  # each stretch up to the one that its turn began with, in steps that double
        higher = above[above]
        if np.array_equal(higher, above):
            break
        above = higher
    number = np.where(begins, np.cumsum(begins) - 1, NO_TURN)[heads]
    turns: Ints = number[above][stretch]
    return turns


def _active(parents: Ints, first: Flags) -> Flags:
    """The path from the last entry to its root: pi does not store its leaf, and takes the last line for it."""
    active = np.zeros(len(parents), np.bool_)
    heads = np.maximum.accumulate(np.where(first, np.arange(len(parents)), 0))
    last = len(parents) - 1
    while last != ROOT:
        head = int(heads[last])
        active[head : last + 1] = True
        last = int(parents[head])
    return active
