from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memory_pipeline.documents import Summary, Turn
from memory_pipeline.errors import ModelOutage
from memory_pipeline.models.contract import Embedder
from memory_pipeline.retrieval import SearchResult, search
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.retrieval.samples import SESSION, TopicEmbedder, summary, turn

TOPICS = TopicEmbedder()
MEMORIES = [
    summary("The vessel Gannet moors at berth 7.", turn_index=0),
    summary("Drain valves are serviced in March.", turn_index=1),
    summary("The hoist carries at most 4 tonnes.", turn_index=2),
    summary("Ines signs every delivery note.", turn_index=3),
    summary("Opening hours end at noon on Fridays.", turn_index=4),
    summary("Berth fees are due in advance.", turn_index=5),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with SqliteStore(tmp_path / "memory.db") as opened:
        opened.ensure_indices()
        yield opened


def fill(store: MemoryStore, memories: Sequence[Summary] = MEMORIES, *, embedder: Embedder | None = TOPICS) -> None:
    assert store.upsert(Summary, memories).refused == ()
    if embedder is not None:
        vectors = embedder.embed([memory.summary for memory in memories])
        ids = [memory.doc_id for memory in memories]
        assert store.put_vectors(Summary, dict(zip(ids, vectors, strict=True)), model=embedder.model).refused == ()
    store.refresh()


def shown(result: SearchResult) -> list[str]:
    return [found.snippet for found in result.found]


def test_words_find_their_memory(store: MemoryStore) -> None:
    fill(store)
    result = search(store, TOPICS, "who signs the delivery note?")
    assert shown(result)[0] == "Ines signs every delivery note."
    assert result.degraded is None


def test_a_rare_identifier_is_found_whatever_the_vectors_say(store: MemoryStore) -> None:
    fill(store, [*MEMORIES, summary("The crane hoist takes part ZX-81.", turn_index=8)])
    assert shown(search(store, TOPICS, "what takes ZX-81?"))[0] == "The crane hoist takes part ZX-81."


def test_meaning_finds_what_shares_no_word(store: MemoryStore) -> None:
    fill(store)
    by_meaning = search(store, TOPICS, "ship")
    assert shown(by_meaning)[0] == "The vessel Gannet moors at berth 7."
    assert search(store, None, "ship").found == ()


def test_a_memory_without_a_vector_is_found_by_its_words(store: MemoryStore) -> None:
    fill(store)
    store.upsert(Summary, [summary("The lighthouse keeper is Bo.", turn_index=9)])
    store.refresh()
    assert shown(search(store, TOPICS, "lighthouse"))[0] == "The lighthouse keeper is Bo."


def test_a_result_says_where_it_came_from(store: MemoryStore) -> None:
    fill(store)
    found = search(store, TOPICS, "delivery note").found[0]
    assert (found.tier, found.session_id, found.turn_id) == ("summaries", SESSION, Turn.make_id(SESSION, 3))
    assert (found.turn_index, found.project) == (3, "/home/ada/harbour")
    assert found.when == MEMORIES[3].established_at
    assert found.document == MEMORIES[3].model_copy(update={"embedding_model": TOPICS.model})


def test_turns_that_wait_to_be_distilled_are_found_by_their_words(store: MemoryStore) -> None:
    fill(store)
    long_talk = (
        "user: hello\n\n" + "assistant: some words. " * 50 + "The tide gauge at pier 3 was replaced. " + "x " * 400
    )
    store.upsert(Turn, [turn(long_talk, turn_index=7), turn("The tide gauge is old.", turn_index=8, state="none")])
    store.refresh()
    (first, *rest) = search(store, TOPICS, "tide gauge").found
    assert (first.tier, first.turn_id) == ("turns", Turn.make_id(SESSION, 7))
    assert "tide gauge at pier 3" in first.snippet
    assert len(first.snippet) <= 300
    assert all(found.tier == "summaries" for found in rest)


@pytest.mark.parametrize("state", ["pending", "invalid", "truncated", "refused", "outage"])
def test_every_state_but_a_finished_one_leaves_the_turn_searchable(store: MemoryStore, state: str) -> None:
    store.upsert(Turn, [turn("The tide gauge was replaced.", state=state)])  # type: ignore[arg-type]
    store.refresh()
    assert [found.tier for found in search(store, None, "gauge").found] == ["turns"]


def test_a_memory_stands_for_its_turn(store: MemoryStore) -> None:
    fill(store)
    store.upsert(Turn, [turn("who signs? Ines signs every delivery note.", turn_index=3, state="invalid")])
    store.refresh()
    found = search(store, TOPICS, "signs delivery note").found
    assert [f.tier for f in found if f.turn_id == Turn.make_id(SESSION, 3)] == ["summaries"]


def test_several_memories_of_one_turn_are_several_results(store: MemoryStore) -> None:
    fill(store, [summary("Gannet moors at berth 7."), summary("Gannet sails on Monday.")])
    assert len(search(store, TOPICS, "Gannet").found) == 2


def test_a_copy_of_a_waiting_turn_is_not_a_second_result(store: MemoryStore) -> None:
    original = turn("The tide gauge was replaced.")
    store.upsert(Turn, [original, turn(original.text, session="fork", copy_of=original.doc_id)])
    store.refresh()
    assert [found.session_id for found in search(store, None, "gauge").found] == [SESSION]


def test_a_filter_holds_for_memories_and_turns(store: MemoryStore) -> None:
    fill(store, [summary("The gauge is new."), summary("The gauge is old.", session="other", project="/srv/other")])
    store.upsert(Turn, [turn("The gauge broke.", turn_index=5), turn("A gauge.", session="third", turn_index=1)])
    store.refresh()
    found = search(store, TOPICS, "gauge", where={"project": "/srv/other"}).found
    assert [f.session_id for f in found] == ["other"]


def test_as_many_come_as_were_asked_for(store: MemoryStore) -> None:
    fill(store, [summary(f"Crane {n} was inspected.", turn_index=n) for n in range(40)])
    store.upsert(Turn, [turn(f"crane {n}", turn_index=100 + n) for n in range(40)])
    store.refresh()
    for k in (1, 10, 25, 60):
        assert len(search(store, TOPICS, "crane inspected", k=k).found) == k


def test_equal_results_keep_their_order(store: MemoryStore) -> None:
    fill(store, [summary(f"Crane {n} was inspected.", turn_index=n) for n in range(30)])
    once = search(store, TOPICS, "crane inspected", k=25)
    assert search(store, TOPICS, "crane inspected", k=25) == once
    assert shown(search(store, TOPICS, "crane inspected", k=5)) == shown(once)[:5]


@pytest.mark.parametrize("query", ["", "   ", "?!", "--- …"])
def test_a_query_without_a_word_finds_nothing(store: MemoryStore, query: str) -> None:
    fill(store)
    assert search(store, TOPICS, query) == SearchResult()


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_result_cannot_be_asked_for(store: MemoryStore, k: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        search(store, TOPICS, "crane", k=k)


@pytest.mark.parametrize("query", ['"', "a AND (b", "berth*", "NEAR(x)", "x'; DROP TABLE y", "ünïcödé 港"])
def test_a_query_is_words_and_never_a_language(store: MemoryStore, query: str) -> None:
    fill(store)
    search(store, TOPICS, query)


def test_an_empty_store_finds_nothing(store: MemoryStore) -> None:
    assert search(store, TOPICS, "crane").found == ()


@pytest.mark.parametrize(
    ("embedder", "filled_by", "reason"),
    [
        (None, TOPICS, "no embedding model"),
        (TOPICS, None, "No memory has a vector yet"),
        (TopicEmbedder(failure=ModelOutage("The embedding server at :1 does not answer.")), TOPICS, "does not answer"),
        (TopicEmbedder("other"), TOPICS, "other"),
        (TopicEmbedder(spare=5), TOPICS, "(8)"),
    ],
    ids=["no embedder", "no vectors", "embedder down", "other model", "other dimensions"],
)
def test_without_vectors_the_search_goes_on_with_words_and_says_so(
    store: MemoryStore, embedder: Embedder | None, filled_by: Embedder | None, reason: str
) -> None:
    fill(store, embedder=filled_by)
    result = search(store, embedder, "delivery note")
    assert shown(result) == ["Ines signs every delivery note."]
    assert result.degraded is not None and reason in result.degraded
