"""Turns become memories, each turn once; what goes wrong with one leaves what was there before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.distillation import DistillationEngine, ExtractiveEngine, open_engine
from memory_pipeline.documents import Document, Summary, Turn
from memory_pipeline.errors import EmbeddingMismatch, ModelOutage
from memory_pipeline.ingestion.distilling import Distilled, Embedded, distil_session, embed_session
from memory_pipeline.ingestion.progress import Budget, Silent
from memory_pipeline.ingestion.redoing import extracted_turns
from memory_pipeline.models import open_chat, open_embedder
from memory_pipeline.settings import load_settings
from memory_pipeline.stores.contract import BulkResult, MemoryStore
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.support.pi_files import START, SessionWriter
from memory_pipeline_tests.support.scripted_server import (
    Answer,
    ScriptedServer,
    chat_completion,
    error,
    models,
    word_embeddings,
)

CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"
DOWN = error("loading", 503, headers={"Retry-After": "0"})  # tried again at once, or each test would take seconds

Distil = Callable[..., Distilled]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.always("/v1/models", models("capable"))
        yield running


@pytest.fixture
def engine(server: ScriptedServer) -> Iterator[DistillationEngine]:
    settings = load_settings(env_file=None, llama_url=server.url, llama_timeout=5)
    opened = open_engine(settings, partial(open_chat, settings))
    yield opened
    opened.close()


@pytest.fixture
def session(tmp_path: Path) -> SessionWriter:
    return SessionWriter(tmp_path / "sessions").turn("Which port?", "Port 4173.").turn("Which host?", "Host zeta.")


@pytest.fixture
def distil(session: SessionWriter, index: Indexer, store: MemoryStore, engine: DistillationEngine) -> Distil:
    """Index the session as it stands and distil it."""
    clock = count()

    def once(budget: Budget | None = None, by: DistillationEngine = engine, path: Path = session.path) -> Distilled:
        session_id = index(path).manifest.doc_id
        return distil_session(
            session_id,
            store=store,
            engine=by,
            budget=budget or Budget(),
            progress=Silent(),
            now=lambda: f"2026-06-01T00:00:00.{next(clock):03d}Z",
        )

    return once


def memory(*summaries: str) -> Answer:
    memories = [{"summary": summary, "tags": ["port", "host", "preview"]} for summary in summaries]
    return chat_completion(json.dumps({"memories": memories}))


NOTHING = chat_completion('{"memories": []}')


def texts(store: MemoryStore) -> set[str]:
    return {summary.summary for summary in store.scan(Summary)}


def states(index: Indexer) -> list[str]:
    return [turn.distillation.state for turn in index.turns()]


def test_each_turn_is_asked_about_once(
    distil: Distil, server: ScriptedServer, store: MemoryStore, index: Indexer
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), NOTHING)
    done = distil()
    assert (done.turns, done.memories, done.states) == (2, 1, {"stored": 1, "none": 1})
    before = list(store.scan(Summary)), index.turns()
    again = distil()
    assert (again.turns, again.unchanged) == (0, 2)
    assert server.calls(CHAT) == 2
    assert (list(store.scan(Summary)), index.turns()) == before


def test_a_grown_session_has_only_its_new_turn_asked_about(
    distil: Distil, session: SessionWriter, server: ScriptedServer
) -> None:
    server.always(CHAT, NOTHING)
    distil()
    session.turn("Which database?", "SQLite.")
    distil()
    assert server.calls(CHAT) == 3
    assert "SQLite" in server.requests_for(CHAT)[-1].json()["messages"][-1]["content"]


def test_memories_of_a_turn_that_changed_go_when_its_new_ones_are_there(
    distil: Distil, session: SessionWriter, server: ScriptedServer, store: MemoryStore
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), memory("The host is zeta.", "Zeta is a host."))
    distil()
    session.tool("bash", "zeta is up")
    server.then(CHAT, memory("Zeta is a host."))
    distil()
    assert texts(store) == {"The preview uses port 4173.", "Zeta is a host."}


def test_memories_of_a_turn_that_comes_to_nothing_now_go(
    distil: Distil, session: SessionWriter, server: ScriptedServer, store: MemoryStore
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), memory("The host is zeta."), NOTHING)
    distil()
    session.tool("bash", "zeta is up")
    distil()
    assert texts(store) == {"The preview uses port 4173."}


@pytest.mark.parametrize(
    ("fault", "state"),
    [(DOWN, "outage"), (chat_completion("prose"), "invalid"), (error("no", 400), "refused")],
    ids=["outage", "prose", "refused"],
)
def test_memories_of_a_turn_that_changed_stay_while_it_can_t_be_distilled(
    distil: Distil,
    session: SessionWriter,
    server: ScriptedServer,
    store: MemoryStore,
    index: Indexer,
    fault: Answer,
    state: str,
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), memory("The host is zeta."))
    distil()
    session.tool("bash", "zeta is up")
    server.always(CHAT, fault)
    done = distil()
    assert states(index) == ["stored", state]
    assert texts(store) == {"The preview uses port 4173.", "The host is zeta."}
    assert len(done.problems) == 1
    assert f"{session.session_id}_1" in done.problems[0]
    server.always(CHAT, memory("Host zeta is up."))
    distil()
    assert states(index) == ["stored", "stored"]
    assert texts(store) == {"The preview uses port 4173.", "Host zeta is up."}


def test_a_crash_between_memories_and_mark_is_made_good(
    distil: Distil, server: ScriptedServer, store: MemoryStore, index: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then(CHAT, memory("The preview uses port 4173.", "Port 4173 is free."))
    upsert = store.upsert
    marking = False

    def dies(kind: type[Document], documents: Iterable[Document | Mapping[str, Any]]) -> BulkResult:
        if kind is Turn and marking:
            raise KeyboardInterrupt
        return upsert(kind, documents)

    monkeypatch.setattr(store, "upsert", dies)
    index_only(distil)
    marking = True
    with pytest.raises(KeyboardInterrupt):
        distil()
    marking = False
    (first, second) = store.scan(Summary)
    assert states(index) == ["pending", "pending"]
    server.then(CHAT, memory("The preview uses port 4173.", "Port 4173 is free."), NOTHING)
    distil()
    assert states(index) == ["stored", "none"]
    assert list(store.scan(Summary)) == [first, second]


def index_only(distil: Distil) -> None:
    assert distil(Budget(turns=0)).left == 2


def test_another_answer_after_a_crash_leaves_none_of_the_first_one_s_memories(
    distil: Distil, server: ScriptedServer, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_only(distil)
    server.then(CHAT, memory("The preview uses port 4173."))
    upsert = store.upsert

    def dies(kind: type[Document], documents: Iterable[Document | Mapping[str, Any]]) -> BulkResult:
        if kind is Turn:
            raise KeyboardInterrupt
        return upsert(kind, documents)

    with monkeypatch.context() as crash:
        crash.setattr(store, "upsert", dies)
        with pytest.raises(KeyboardInterrupt):
            distil()
    assert texts(store) == {"The preview uses port 4173."}
    server.then(CHAT, memory("Previews listen on port 4173."), NOTHING)
    distil()
    assert texts(store) == {"Previews listen on port 4173."}


def test_the_same_words_at_another_time_are_not_asked_about_again(
    tmp_path: Path, distil: Distil, session: SessionWriter, server: ScriptedServer, store: MemoryStore
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), NOTHING)
    distil()
    later = SessionWriter(tmp_path / "sessions", started=START + timedelta(days=1))
    later.turn("Which port?", "Port 4173.").turn("Which host?", "Host zeta.")
    done = distil(path=later.path)
    assert (done.turns, done.reused, done.states) == (2, 2, {"stored": 1, "none": 1})
    assert server.calls(CHAT) == 2
    first, second = store.scan(Summary, order=("established_at",))
    assert (first.summary, first.tags, first.trust) == (second.summary, second.tags, second.trust)
    assert {ref.session_id for ref in second.source_refs} == {later.session_id}
    assert all(ref.doc_id and ref.doc_id.startswith(later.session_id) for ref in second.source_refs)


def test_what_was_extracted_is_done_again_by_a_model_and_not_the_other_way_round(
    distil: Distil, session: SessionWriter, server: ScriptedServer, store: MemoryStore
) -> None:
    session.turn(
        "Which database do we take?", "We decided on PostgreSQL 16, because `pgvector` is there and the team knows it."
    )
    extracted = distil(by=ExtractiveEngine())
    assert extracted.states["stored"] >= 1
    assert {summary.model for summary in store.scan(Summary)} == {"extractive"}
    server.always(CHAT, memory("PostgreSQL 16 was chosen for pgvector."))
    again = frozenset(extracted_turns(store, 100))
    assert distil(Budget(redo=again)).turns == 3
    assert {summary.model for summary in store.scan(Summary)} == {"capable"}
    assert distil(by=ExtractiveEngine()).unchanged == 3
    assert extracted_turns(store, 100) == {}


def test_after_three_outages_in_a_row_no_turn_is_tried_any_more(
    distil: Distil, session: SessionWriter, server: ScriptedServer, index: Indexer
) -> None:
    for part in range(4):
        session.turn(f"And part {part}?", f"Part {part} is fine.")
    server.then(CHAT, memory("The preview uses port 4173."))
    server.always(CHAT, DOWN)
    with pytest.raises(ModelOutage, match=server.url):
        distil()
    assert states(index) == ["stored", "outage", "outage", "outage", "pending", "pending"]


def test_outages_in_a_row_are_counted_across_sessions(
    tmp_path: Path, distil: Distil, server: ScriptedServer, index: Indexer
) -> None:
    """With one turn each, every session of a backlog would wait for a server that is down."""
    server.always(CHAT, DOWN)
    budget = Budget()
    with pytest.raises(ModelOutage):
        for number in range(5):
            other = SessionWriter(tmp_path / "sessions", cwd=f"/home/ann/src/app{number}").turn(
                f"Part {number}?", "OK."
            )
            distil(budget, path=other.path)
    assert states(index).count("outage") == 3


def test_an_answer_in_between_ends_the_row(
    distil: Distil, session: SessionWriter, server: ScriptedServer, index: Indexer
) -> None:
    session.turn("And the rest?", "The rest is fine.").turn("And this?", "So is this.").turn("All?", "All.")
    for answer in (DOWN, DOWN, NOTHING, DOWN, DOWN):
        server.then(CHAT, *([answer] * (4 if answer is DOWN else 1)))
    distil()
    assert states(index) == ["outage", "outage", "none", "outage", "outage"]


def test_a_budget_of_turns_leaves_the_rest_pending(distil: Distil, server: ScriptedServer, index: Indexer) -> None:
    server.always(CHAT, NOTHING)
    budget = Budget(turns=1)
    done = distil(budget)
    assert (done.turns, done.left, budget.spent) == (1, 1, True)
    assert states(index) == ["none", "pending"]
    distil(Budget(turns=1))
    assert states(index) == ["none", "none"]


def test_a_budget_of_seconds_leaves_the_rest_to_its_next_run(
    distil: Distil, session: SessionWriter, server: ScriptedServer, index: Indexer
) -> None:
    server.always(CHAT, Answer(NOTHING.body, delay=0.3))
    budget = Budget(seconds=0.2)
    assert distil(budget).left == 1
    assert budget.left == {session.session_id}
    assert not budget.spent
    budget.start_run()
    assert distil(budget).left == 0
    assert budget.left == set()
    assert states(index) == ["none", "none"]


def test_a_turn_that_failed_is_tried_once_under_one_budget(
    distil: Distil, server: ScriptedServer, index: Indexer
) -> None:
    server.always(CHAT, chat_completion("prose"))
    budget = Budget()
    distil(budget)
    distil(budget)
    assert server.calls(CHAT) == 2
    assert [turn.distillation.attempts for turn in index.turns()] == [1, 1]
    distil(Budget())
    assert [turn.distillation.attempts for turn in index.turns()] == [2, 2]


def embed(server: ScriptedServer, session: SessionWriter, store: MemoryStore, *, dimensions: int = 16) -> Embedded:
    server.always(EMBEDDINGS, word_embeddings(dimensions))
    settings = load_settings(env_file=None, embeddings="llama", embeddings_url=server.url)
    with closing(open_embedder(settings)) as embedder:
        return embed_session(session.session_id, store=store, embedder=embedder, progress=Silent())


def test_each_memory_gets_a_vector_once(
    distil: Distil, session: SessionWriter, server: ScriptedServer, store: MemoryStore
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), memory("The host is zeta."))
    distil()
    assert [embed(server, session, store).memories for _ in range(2)] == [2, 0]
    (request,) = server.requests_for(EMBEDDINGS)
    assert sorted(request.json()["input"]) == ["app: The host is zeta.", "app: The preview uses port 4173."]
    assert store.count(Summary, {"embedding_model": "capable"}) == 2


def test_a_vector_of_another_length_is_an_error_and_not_passed_over(
    distil: Distil, session: SessionWriter, server: ScriptedServer, store: MemoryStore
) -> None:
    server.then(CHAT, memory("The preview uses port 4173."), memory("The host is zeta."))
    distil(Budget(turns=1))
    embed(server, session, store)
    distil()
    with pytest.raises(EmbeddingMismatch, match=r"has 8 numbers.*--reembed"):
        embed(server, session, store, dimensions=8)
    assert embed(server, session, store).memories == 1
