"""What counts as the same memory told again, and what does not."""

from __future__ import annotations

import pytest

from memory_pipeline.distillation.duplicates import near_duplicate

KNOWN = {
    "port": "The dev database listens on port 5433 since a system Postgres already uses 5432.",
    "tool": "Only pnpm may be used in the repository, never npm or yarn.",
    "deploy": "Deploys are not allowed on Fridays after lunch.",
}


@pytest.mark.parametrize(
    ("again", "key"),
    [
        ("The dev database listens on port 5433 since a system Postgres already uses 5432.", "port"),
        ("Since a system Postgres already uses 5432, the dev database listens on port 5433.", "port"),
        ("In the repository only pnpm may be used, never npm or yarn.", "tool"),
    ],
)
def test_the_same_said_in_another_order_is_a_duplicate(again: str, key: str) -> None:
    assert near_duplicate(again, KNOWN) == key


@pytest.mark.parametrize(
    "other",
    [
        "The dev database listens on port 5434 since a system Postgres already uses 5432.",
        "The dev database listens on port 5433 since a system MySQL already uses 5432.",
        "Only bun may be used in the repository, never npm or yarn.",
        "Deploys are allowed on Fridays after lunch.",
        "Commit messages are written in German.",
        "",
    ],
)
def test_a_changed_number_name_or_negation_makes_another_memory(other: str) -> None:
    assert near_duplicate(other, KNOWN) is None


def test_nothing_repeats_nothing() -> None:
    assert near_duplicate("Commit messages are written in German.", {}) is None
