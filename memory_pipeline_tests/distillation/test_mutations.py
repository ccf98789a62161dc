"""Swapped values in recorded memories are noticed, and unchanged memories are left alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memory_pipeline.distillation.contract import Judged, Proposal
from memory_pipeline.distillation.grounding import judge
from memory_pipeline.redaction import Redactor
from memory_pipeline_tests.distillation.mutations import Recorded, mutate, recorded

SEEDS = (0, 1, 2)
A_ROUND = 50
"""Memories mutated for each seed in each way."""


@pytest.fixture(scope="module")
def memories(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    redactor = Redactor(tmp_path_factory.mktemp("rules"), b"key of the tests")
    return list(recorded(shared_data / "evalset", redactor))


def _judge(memory: Recorded, proposal: Proposal) -> Judged:
    return judge([proposal], memory.spoken, heard=memory.heard, known=[memory.project])


def _caught(memories: list[Recorded], *, from_turn: bool) -> float:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        random = Random(seed)
        done = 0
        for memory in random.sample(memories, len(memories)):
            mutation = mutate(memory, random, from_turn=from_turn)
            if mutation is None or done == A_ROUND:
                continue
            done += 1
            judged = _judge(memory, replace(memory.proposal, summary=mutation.summary))
            survived = any(mutation.survives_in(draft.summary) for draft in judged.drafts)
            restored = any(draft.summary == memory.proposal.summary for draft in judged.drafts)
            counts["survived" if survived else "restored" if restored else "cut" if judged.drafts else "dropped"] += 1
        assert done == A_ROUND
    rate = 1 - counts["survived"] / counts.total()
    print(f"swapped for a value from {'the turn' if from_turn else 'nowhere'}: {rate:.3f} caught; {dict(counts)}")  # noqa: T201
    return rate


def test_a_value_that_occurs_nowhere_in_the_turn_is_repaired_or_dropped(memories: list[Recorded]) -> None:
    assert _caught(memories, from_turn=False) >= 0.98


def test_most_values_taken_from_elsewhere_in_the_turn_are_noticed(memories: list[Recorded]) -> None:
    assert _caught(memories, from_turn=True) >= 0.7


def test_unchanged_memories_are_kept(memories: list[Recorded]) -> None:
    """One of the recorded ones quotes a summary of a branch that was given up, which nobody said."""
    judged = [_judge(memory, memory.proposal) for memory in memories]
    dropped = sum(not verdict.drafts for verdict in judged)
    changed = sum(
        verdict.drafts[0].summary != memory.proposal.summary
        for memory, verdict in zip(memories, judged, strict=True)
        if verdict.drafts
    )
    print(f"unchanged: {dropped} of {len(memories)} dropped, {changed} shortened or mended")  # noqa: T201
    assert dropped <= 0.02 * len(memories)
    assert changed <= 0.1 * len(memories)
