"""What `make eval` measures, held to its floors; and that its numbers say what they claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.configurations import Measurement, Row
from benchmarks.quality.labels import Fact, Labels
from benchmarks.quality.report import markdown
from benchmarks.quality.scoring import Score, score
from memory_pipeline.documents import Summary
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store
from memory_pipeline_tests.ingestion.distilling import Distiller, Spoken
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.redaction.rules import shared_redactor
from memory_pipeline_tests.support.pi_files import SessionWriter


@pytest.fixture(scope="module")
def rows(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """Every configuration but the small model's."""
    measurement = Measurement(
        evalset=shared_data / "evalset",
        real=shared_data / "pi-sessions" / "real" / "large-session.jsonl",
        chat_gguf=None,
        folder=tmp_path_factory.mktemp("sets"),
        redactor=shared_redactor(tmp_path_factory),
    )
    return {row.name: row for row in measurement.rows()}


def scored(rows: dict[str, Row], name: str) -> Score:
    result = rows[name].score
    assert result is not None, rows[name].problems
    return result


def test_recorded_answers_of_a_capable_model_come_through_whole(rows: dict[str, Row]) -> None:
    result = scored(rows, "recorded capable model")
    assert result.failed == 0, rows["recorded capable model"].problems
    assert result.core_kept + result.minor_kept >= 0.98 * (result.core + result.minor), (result.missed, result.dropped)
    assert (result.junk, result.junk_noisy <= 3) == (43, True), result.noisy
    assert result.unmatched <= 0.24 * result.memories
    assert (result.ungrounded, result.injected, result.recalled, result.duplicates) == (0, 0, 0, 0)
    assert result.tokens > 50_000


@pytest.mark.parametrize(
    ("name", "core", "junk"),
    [
        ("extractive, plain", 0.97, 41 / 43),
        ("extractive, padded K = 4", 0.95, 0.95),
        ("extractive, padded K = 10", 0.95, 0.95),
        ("extractive, real session", 0.90, 0.85),
    ],
)
def test_extraction_keeps_facts_and_is_silent_on_junk(
    rows: dict[str, Row], name: str, core: float, junk: float
) -> None:
    result = scored(rows, name)
    assert result.core_kept >= core * result.core, result.missed
    assert result.junk - result.junk_noisy >= junk * result.junk, result.noisy
    assert (result.ungrounded, result.injected, result.recalled, result.too_long) == (0, 0, 0, 0)
    assert result.duplicates <= 0.01 * result.memories


def test_what_is_not_there_is_left_out_with_a_word(rows: dict[str, Row]) -> None:
    assert rows["small chat model"].score is None
    text = markdown(list(rows.values()), "0123456789abcdef")
    assert "Left out: small chat model (not asked for)." in text
    assert "0123456789abcdef" in text
    assert text.count("\n| ") == 1 + len(rows)


def test_a_score_counts_what_it_says(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    session = SessionWriter(tmp_path / "sessions")
    for said in ("The port is 4173.", "The host is zeta.", "Thanks!", "Fine.", "No."):
        session.turn(said, "Noted.")
    settings = load_settings(env_file=None, data_dir=tmp_path / "data", sessions_dir=tmp_path / "sessions")
    key = session.session_id
    labels = Labels(
        facts=(
            Fact((key, 0), core=True, key_terms=("port", "4173")),
            Fact((key, 1), core=True, key_terms=("host", "zeta")),
            Fact((key, 1), core=False, key_terms=("host", "zeta", "a", "b", "c")),
            Fact(("elsewhere", 0), core=True, key_terms=("nothing",)),
        ),
        junk=frozenset({(key, 2), (key, 3)}),
        injected=("evil",),
    )
    with open_store(settings) as store:
        distil = Distiller(Indexer(settings, store, shared_redactor(tmp_path_factory)), store)
        distil(session.path, Spoken({0: ["The port is 4173."], 2: ["The evil Thanks."], 3: ["x " * 201]}))
        found = score(store, labels)
        only = score(store, labels, asked={f"{key}_1"})
        assert store.count(Summary) == 3
    assert (found.core, found.core_kept, found.minor, found.minor_kept) == (2, 1, 1, 0)
    assert (found.turns, found.memories, found.unmatched, found.too_long) == (5, 3, 2, 1)
    assert (found.junk, found.junk_noisy, found.injected) == (2, 2, 1)
    assert [fact.place for fact in found.missed] == [(key, 1), (key, 1)]
    assert (only.turns, only.core, only.core_kept, only.junk) == (1, 1, 0, 0)
