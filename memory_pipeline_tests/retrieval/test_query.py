from __future__ import annotations

import pytest

from memory_pipeline.retrieval.query import query_terms


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Which package manager may I use in fernshop?", ["package", "manager", "use", "fernshop"]),
        ("Wie heißt der Ansprechpartner bei Nordkante?", ["heißt", "ansprechpartner", "nordkante"]),
        ("Ines's label printer", ["ines", "label", "printer"]),
        ("Ines’s printer", ["ines", "printer"]),
        ("pg_trgm at busy-timeout=5000", ["pg", "trgm", "busy", "timeout", "5000"]),
        ("disk DISK Disk", ["disk"]),
        ("zu\u0308rich", ["zürich"]),
        ("what is it?", ["what", "is", "it"]),
        ("", []),
        ("?! --- …", []),
    ],
)
def test_a_query_becomes_its_telling_words(query: str, terms: list[str]) -> None:
    assert query_terms(query) == terms
