"""The tree of a session's entries: repaired parents, turns, the active path. Pure functions over the entries' links.

Every walk is iterative and visits an entry once: chains of thousands of entries are common, and damaged files hold
cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ROOT = -1
NO_TURN = -1


class Node(Protocol):
    """What the tree needs to know of an entry."""

    @property
    def id(self) -> str | None: ...

    @property
    def parent_id(self) -> str | None:
        """None for an entry that says it has no parent."""
        ...

    @property
    def linked(self) -> bool:
        """Whether the entry says anything of its parent; in v1 none does, and each follows the one before it."""
        ...

    @property
    def is_user(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Tree:
    """One value per entry, in file order."""

    parents: tuple[int, ...]
    """Index of the parent, ROOT for none."""
    turn_index: tuple[int, ...]
    """NO_TURN before the first user message."""
    on_active_path: tuple[bool, ...]
    repaired: tuple[int, ...]
    """The entries whose parent was unknown or closed a cycle: they hang on the entry before them."""
    turns: int
    branches: int
    """Ends of the tree: 1 for a straight session, 0 for an empty one."""


def arrange(nodes: Sequence[Node]) -> Tree:
    parents, repaired = _parents(nodes)
    turn_index, turns = _turns(nodes, parents)
    return Tree(
        parents=tuple(parents),
        turn_index=tuple(turn_index),
        on_active_path=tuple(_active(parents)),
        repaired=tuple(repaired),
        turns=turns,
        branches=len(parents) - len({parent for parent in parents if parent != ROOT}),
    )


def _parents(nodes: Sequence[Node]) -> tuple[list[int], list[int]]:
    """Each entry's parent, and the entries that got theirs by repair.

    A parent is the latest earlier entry with that id. Where only a later one has it (lines out of order), that one,
    unless such links close a cycle somewhere: then none of them is trusted.
    """
    parents: list[int] = []
    unknown: list[int] = []
    latest: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if not node.linked:
            parents.append(i - 1)
        elif node.parent_id is None:
            parents.append(ROOT)
        elif node.parent_id in latest:
            parents.append(latest[node.parent_id])
        else:
            parents.append(i - 1)
            unknown.append(i)
        if node.id is not None:
            latest[node.id] = i
    if not unknown:
        return parents, []
    first: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if node.id is not None:
            first.setdefault(node.id, i)
    forward = {i: first[parent] for i in unknown if (parent := nodes[i].parent_id or "") in first and first[parent] > i}
    linked = [forward.get(i, parent) for i, parent in enumerate(parents)]
    if _has_cycle(linked):
        return parents, unknown
    return linked, [i for i in unknown if i not in forward]


def _has_cycle(parents: Sequence[int]) -> bool:
    done = [False] * len(parents)
    for i in range(len(parents)):
        walk = []
        on_walk = set()
        j = i
        while j != ROOT and not done[j]:
            if j in on_walk:
                return True
            on_walk.add(j)
            walk.append(j)
            j = parents[j]
        for k in walk:
            done[k] = True
    return False


def _turns(nodes: Sequence[Node], parents: Sequence[int]) -> tuple[list[int], int]:
    """Each entry's turn by the turn rule, and how many turns there are."""
    turn: list[int | None] = [None] * len(nodes)
    count = 0
    for i, node in enumerate(nodes):
        if node.is_user and not (parents[i] != ROOT and nodes[parents[i]].is_user):
            turn[i] = count
            count += 1
    for i in range(len(nodes)):
        walk = []
        j = i
        while j != ROOT and turn[j] is None:
            walk.append(j)
            j = parents[j]
        found = NO_TURN if j == ROOT else turn[j]
        for k in walk:
            turn[k] = found
    return [NO_TURN if t is None else t for t in turn], count


def _active(parents: Sequence[int]) -> list[bool]:
    """The path from the last entry to its root: pi does not store its leaf, and takes the last line for it."""
    active = [False] * len(parents)
    i = len(parents) - 1
    while i != ROOT:
        active[i] = True
        i = parents[i]
    return active
