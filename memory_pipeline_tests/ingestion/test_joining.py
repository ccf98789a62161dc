"""What a session says several times is one memory that cites every turn, whatever is done again and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.distillation import Outcome
from memory_pipeline.documents import Document, Mentions, Summary, Turn
from memory_pipeline.ingestion.progress import Budget
from memory_pipeline.stores.contract import BulkResult, MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller, Spoken, redo
from memory_pipeline_tests.support.pi_files import START, SessionWriter

PORT = "The preview server listens on port 4173."
PORT_AGAIN = "The preview server listens on port 4173 now."
HOST = "Backups go to the machine `zeta` every night."
DOWN = Outcome("outage", error="nobody there", server_at_fault=True)


@pytest.fixture
def session(tmp_path: Path) -> SessionWriter:
    writer = SessionWriter(tmp_path / "sessions")
    for number in range(4):
        writer.turn(f"Question {number}?", f"Answer {number}.")
    return writer


def contents(store: MemoryStore) -> list[dict[str, Any]]:
    """Memories and turns without what a second try may change."""
    memories = [memory.model_dump(exclude={"summarized_at"}) for memory in store.scan(Summary)]
    turns = [turn.model_dump(exclude={"distillation": {"attempts", "seconds"}}) for turn in store.scan(Turn)]
    return memories + turns


def test_a_near_duplicate_adds_its_turn_to_the_memory_that_is_there(distil: Distiller, session: SessionWriter) -> None:
    done = distil(session.path, Spoken({0: [PORT], 2: [PORT_AGAIN], 3: [HOST]}))
    assert distil.memories() == {PORT: [0, 2], HOST: [3]}
    assert (done.memories, done.states) == (3, {"stored": 3, "none": 1})


def test_the_same_in_another_session_is_a_memory_of_its_own(
    distil: Distiller, session: SessionWriter, tmp_path: Path, store: MemoryStore
) -> None:
    distil(session.path, Spoken({0: [PORT]}))
    other = SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/other").turn("Which port?", "4173.")
    distil(other.path, Spoken({0: [PORT_AGAIN]}))
    assert [len(memory.source_refs) for memory in store.scan(Summary)] == [1, 1]


def test_a_turn_that_failed_at_first_ends_as_if_it_had_not(distil: Distiller, session: SessionWriter) -> None:
    distil(session.path, Spoken({0: DOWN, 1: [HOST], 2: [PORT_AGAIN]}))
    assert distil.memories() == {HOST: [1], PORT_AGAIN: [2]}
    distil(session.path, Spoken({0: [PORT]}))
    assert distil.memories() == {PORT: [0, 2], HOST: [1]}


def test_a_turn_that_no_longer_repeats_a_memory_takes_only_its_own_citations_away(
    distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    distil(session.path, Spoken({0: [PORT], 2: [PORT_AGAIN]}))
    distil(session.path, Spoken({2: [HOST]}), redo(store, 2))
    assert distil.memories() == {PORT: [0], HOST: [2]}


def test_a_memory_whose_turn_no_longer_yields_it_stays_for_the_turn_that_said_it_too(
    distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    distil(session.path, Spoken({0: [PORT], 2: [PORT_AGAIN]}))
    distil(session.path, Spoken({0: [HOST]}), redo(store, 0))
    assert distil.memories() == {PORT: [2], HOST: [0]}
    (kept,) = (memory for memory in store.scan(Summary) if memory.summary == PORT)
    assert kept.established_at == next(turn.started_at for turn in store.scan(Turn) if turn.turn_index == 2)


def test_a_new_wording_takes_over_what_hung_on_the_old_one(
    distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    distil(session.path, Spoken({0: [PORT], 2: [PORT_AGAIN]}))
    reworded = "Port 4173 is where the preview server listens."
    distil(session.path, Spoken({0: [reworded]}), redo(store, 0))
    assert distil.memories() == {reworded: [0, 2]}


@pytest.mark.parametrize("order", [(0, 2, 3), (3, 2, 0), (2, 0, 3)])
def test_doing_turns_again_in_any_order_ends_the_same(
    distil: Distiller, session: SessionWriter, store: MemoryStore, order: tuple[int, ...]
) -> None:
    outcomes = {0: [PORT, HOST], 2: [PORT_AGAIN], 3: [HOST + " Really."]}
    distil(session.path, Spoken(outcomes))
    before = contents(store)
    for turn_index in order:
        distil(session.path, Spoken(outcomes), redo(store, turn_index))
    assert contents(store) == before


@pytest.mark.parametrize("call", range(1, 12))
def test_a_crash_at_any_write_is_made_good(
    distil: Distiller, session: SessionWriter, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    outcomes = {0: [PORT], 1: [HOST], 2: [PORT_AGAIN, HOST]}
    engine = Spoken(outcomes, mentions={0: ["zeta"], 2: ["preview"]})
    distil(session.path, engine, Budget(turns=0))
    with monkeypatch.context() as crash:
        left = call
        upsert, delete = store.upsert, store.delete

        def count() -> None:
            nonlocal left
            left -= 1
            if not left:
                raise KeyboardInterrupt

        def dying_upsert(kind: type[Document], documents: Iterable[Document | Mapping[str, Any]]) -> BulkResult:
            count()
            return upsert(kind, documents)

        def dying_delete(kind: type[Document], where: Mapping[str, Any]) -> int:
            count()
            return delete(kind, where)

        crash.setattr(store, "upsert", dying_upsert)
        crash.setattr(store, "delete", dying_delete)
        with pytest.raises(KeyboardInterrupt):
            distil(session.path, engine)
    distil(session.path, engine)
    assert distil.memories() == {PORT: [0, 2], HOST: [1, 2]}
    assert {turn.distillation.state for turn in store.scan(Turn)} == {"stored", "none"}
    assert len(list(store.scan(Mentions))) == 1


def test_what_turns_name_is_kept_by_session_and_replaced_by_turn(
    distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    distil(session.path, Spoken({}, mentions={0: ["zeta"], 2: ["preview", "zeta"]}))
    distil(session.path, Spoken({}, mentions={2: ["vite"]}), redo(store, 2))
    (mentions,) = store.scan(Mentions)
    assert mentions.doc_id == session.session_id
    assert [(m["turn_index"], m["name"]) for m in mentions.mentions] == [(0, "zeta"), (2, "vite")]
    assert {ref.turn_id.rpartition("_")[2] for ref in mentions.source_refs} == {"0", "2"}
    distil(session.path, Spoken({}), redo(store, 0, 2))
    assert list(store.scan(Mentions)) == []


@pytest.mark.parametrize("parallel", [2, 3, 8])
def test_with_several_answers_at_a_time_the_store_ends_the_same(
    distil: Distiller, session: SessionWriter, store: MemoryStore, parallel: int
) -> None:
    outcomes = {0: [PORT], 1: [HOST], 2: [PORT_AGAIN], 3: [HOST]}
    engine = Spoken(outcomes, parallel=parallel, keeps_state=False)
    done = distil(session.path, engine)
    assert done.turns == 4
    assert sorted(engine.asked) == [f"{session.session_id}_{number}" for number in range(4)]
    assert distil.memories() == {PORT: [0, 2], HOST: [1, 3]}


@pytest.mark.parametrize("fork_first", [False, True])
def test_a_fork_of_the_session_cites_the_same_in_whatever_order_it_comes(
    distil: Distiller, session: SessionWriter, store: MemoryStore, tmp_path: Path, fork_first: bool
) -> None:
    fork = SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/fork", started=START + timedelta(days=1))
    lines = session.path.read_text().splitlines()[1:]
    fork.path.write_text("\n".join([fork.path.read_text().splitlines()[0], *lines]) + "\n")
    engine = Spoken({0: [PORT], 2: [PORT_AGAIN]})
    for path in (fork.path, session.path) if fork_first else (session.path, fork.path):
        distil(path, engine)
    (memory,) = store.scan(Summary)
    first, second = session.session_id, fork.session_id
    assert [ref.turn_id for ref in memory.source_refs] == [f"{first}_0", f"{second}_0", f"{first}_2", f"{second}_2"]
    distil(session.path, engine, redo(store, 0, 2))
    assert [memory.source_refs for memory in store.scan(Summary)] == [memory.source_refs]
