"""What extraction keeps of labelled sessions. The floors lie a little below what was measured; see each test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.quality.labels import read_labels
from memory_pipeline.distillation import ExtractiveEngine
from memory_pipeline.distillation.units import count_sentences
from memory_pipeline.redaction import Redactor
from memory_pipeline_tests.distillation.labelled import Score, Session, distil, read_session, score


@pytest.fixture(scope="session")
def redactor(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    return Redactor(tmp_path_factory.mktemp("rules"), b"key of the tests")


@pytest.fixture(scope="session")
def evalset(shared_data: Path, redactor: Redactor) -> list[Session]:
    return read_sessions(shared_data / "evalset", redactor)


def read_sessions(evalset: Path, redactor: Redactor) -> list[Session]:
    return [read_session(path, redactor) for path in sorted((evalset / "sessions").rglob("*.jsonl"))]


def measured(result: Score) -> str:
    return (
        f"core {result.core_kept}/{result.core}, junk silent {result.junk_silent}/{result.junk}, "
        f"{result.unmatched} of {result.memories} memories unmatched; missed {result.missed}; noisy {result.noisy}"
    )


def test_extraction_keeps_nearly_all_core_facts_and_hardly_any_junk(shared_data: Path, evalset: list[Session]) -> None:
    """Measured: 90 of 90 core facts, 42 of 43 junk turns silent, 16 of 119 memories hold no labelled fact."""
    result = score(evalset, ExtractiveEngine(), read_labels(shared_data / "evalset" / "labels.json"))
    assert result.core_kept >= 0.97 * result.core, measured(result)
    assert (result.junk, result.junk_silent >= 41) == (43, True), measured(result)
    assert result.unmatched <= 0.15 * result.memories, measured(result)


@pytest.mark.parametrize("routine_sentences", ["4", "10"])
def test_routine_sentences_around_the_facts_change_little(
    routine_sentences: str, shared_data: Path, redactor: Redactor, tmp_path: Path
) -> None:
    """Measured: 90 of 90 core facts, 42 of 43 junk turns silent, with either."""
    evalset = shared_data / "evalset"
    subprocess.run([sys.executable, evalset / "pad.py", evalset, tmp_path, routine_sentences], check=True)
    result = score(read_sessions(tmp_path, redactor), ExtractiveEngine(), read_labels(tmp_path / "labels.json"))
    assert result.core_kept >= 0.95 * result.core, measured(result)
    assert result.junk_silent >= 0.95 * result.junk, measured(result)


def test_long_real_turns_are_distilled_too(shared_data: Path, redactor: Redactor) -> None:
    """Measured: 16 of 17 core facts, 21 of 24 junk turns silent."""
    real = shared_data / "pi-sessions" / "real"
    session = read_session(real / "large-session.jsonl", redactor)
    result = score([session], ExtractiveEngine(), read_labels(real / "large-session.labels.json"))
    assert result.core_kept >= 0.9 * result.core, measured(result)
    assert result.junk_silent >= 0.85 * result.junk, measured(result)


def test_every_memory_is_short_tagged_cited_and_verbatim(evalset: list[Session]) -> None:
    for session in evalset:
        for (_, turn_index), drafts in distil(session, ExtractiveEngine()).items():
            (turn,) = (turn for turn in session.turns if turn.turn_index == turn_index)
            messages = {message.doc_id: message for message in session.messages[turn.turn_id]}
            for draft in drafts:
                assert len(draft.summary) <= 400
                assert count_sentences(draft.summary) <= 3
                assert 3 <= len(draft.tags) <= 8, draft
                assert draft.cites
                cited = [messages[doc_id] for doc_id in draft.cites]
                assert {message.role for message in cited} <= {"user", "assistant"}
                assert draft.trust == ("assistant" if any(m.role == "assistant" for m in cited) else "user")
                assert all(any(quote in m.content for m in cited) for quote in draft.evidence)


def test_injections_and_recalled_memories_leave_no_trace(shared_data: Path, evalset: list[Session]) -> None:
    labels = json.loads((shared_data / "evalset" / "labels.json").read_text(encoding="utf-8"))
    planted = [*labels["injection_places"], *labels["recalled_memory"]]
    markers = [marker.lower() for place in planted for marker in place["markers"]]
    assert len(markers) >= 5
    kept = [draft for session in evalset for drafts in distil(session, ExtractiveEngine()).values() for draft in drafts]
    for draft in kept:
        whole = " ".join([draft.summary, *draft.tags, *draft.evidence]).lower()
        assert not [marker for marker in markers if marker in whole]
