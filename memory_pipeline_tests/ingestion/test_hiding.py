"""A memory that a person has hidden is nowhere to be found, and stays away whatever is done again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memory_pipeline.documents import Meta, Summary, Turn
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.exporting import export
from memory_pipeline.ingestion.hiding import all_hidden, hide, quotes_overlap, unhide
from memory_pipeline.ingestion.tracing import TracedMemory, trace
from memory_pipeline.retrieval import search
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller, Spoken, redo
from memory_pipeline_tests.support.pi_files import START, SessionWriter

QUOTE = "the preview server listens on port 4173 since we moved it"
PORT = ("The preview server listens on port 4173.", QUOTE)
REWORDED = ("Since the move port 4173 belongs to the preview server `vite`.", "listens on port 4173 since we moved it")
HOST = ("Backups go to the machine `zeta`.", "backups go to zeta")
NOW = "2026-06-02T00:00:00.000Z"


@pytest.fixture
def session(tmp_path: Path) -> SessionWriter:
    return SessionWriter(tmp_path / "sessions").turn(f"Note: {QUOTE}, and backups go to zeta.", "Noted.").turn("And?")


def id_of(store: MemoryStore, summary: str) -> str:
    return next(memory.doc_id for memory in store.scan(Summary) if memory.summary == summary)


@pytest.fixture
def hidden_id(distil: Distiller, session: SessionWriter, store: MemoryStore) -> str:
    distil(session.path, Spoken({0: [PORT, HOST]}))
    memory_id = id_of(store, PORT[0])
    hide(memory_id, store=store, now=NOW)
    return memory_id


def test_it_is_in_no_result(hidden_id: str, store: MemoryStore) -> None:
    assert [found.snippet for found in search(store, None, "preview server port 4173 backups").found] == [HOST[0]]
    exported = [document["doc_id"] for document in export(store, tiers=["summaries"])]
    assert hidden_id not in exported
    assert len(exported) == 1


def test_those_who_ask_for_it_see_it(hidden_id: str, store: MemoryStore) -> None:
    (asked,) = (d for d in export(store, tiers=["summaries"], hidden=True) if d["doc_id"] == hidden_id)
    assert (asked["summary"], asked["hidden_at"]) == (PORT[0], NOW)
    found = trace(hidden_id, store)
    assert isinstance(found, TracedMemory)
    assert (found.hidden_at, found.memory.summary) == (NOW, PORT[0])
    assert found.messages
    assert [note.memory.doc_id for note in all_hidden(store)] == [hidden_id]


@pytest.mark.parametrize("again", [PORT, REWORDED], ids=["the same", "other words for the same quote"])
def test_a_re_run_does_not_bring_it_back(
    hidden_id: str, distil: Distiller, session: SessionWriter, store: MemoryStore, again: tuple[str, str]
) -> None:
    distil(session.path, Spoken({0: [again, HOST]}, model="another"), redo(store, 0))
    assert list(distil.memories()) == [HOST[0]]
    turn = next(turn for turn in store.scan(Turn) if turn.turn_index == 0)
    assert (turn.distillation.state, turn.distillation.memories) == ("stored", 1)
    assert len(turn.distillation.dropped) == 1


def test_where_nothing_else_is_left_the_turn_has_no_memory(
    hidden_id: str, distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    distil(session.path, Spoken({0: [PORT]}, model="another"), redo(store, 0))
    assert distil.memories() == {}
    assert next(store.scan(Turn, {"turn_index": 0})).distillation.state == "none"


def test_its_turn_s_other_memories_are_not_taken_for_it_though_they_rest_on_the_same_quote(
    distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    beside = ("The preview server was moved.", QUOTE)
    distil(session.path, Spoken({0: [PORT, beside]}))
    hide(id_of(store, PORT[0]), store=store, now=NOW)
    distil(session.path, Spoken({0: [PORT, beside]}), redo(store, 0))
    assert list(distil.memories()) == [beside[0]]


def test_the_next_turn_s_say_so_does_not_bring_it_back_either(
    hidden_id: str, distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    distil(session.path, Spoken({1: [PORT, ("Logs go to `/var/log/app.log`.", "logs")]}), redo(store, 1))
    assert list(distil.memories()) == [HOST[0], "Logs go to `/var/log/app.log`."] or set(distil.memories()) == {
        HOST[0],
        "Logs go to `/var/log/app.log`.",
    }


def test_a_turn_that_has_grown_keeps_it_out(
    hidden_id: str, distil: Distiller, session: SessionWriter, store: MemoryStore, tmp_path: Path
) -> None:
    session.tool("bash", "ok")
    distil(session.path, Spoken({0: [REWORDED, HOST]}), redo(store, 0))
    assert list(distil.memories()) == [HOST[0]]


def test_a_copy_of_its_turn_in_an_older_session_does_not_bring_it_back(
    distil: Distiller, store: MemoryStore, tmp_path: Path
) -> None:
    fork = SessionWriter(tmp_path / "sessions").turn(f"Note: {QUOTE}.", "Noted.")
    distil(fork.path, Spoken({0: [PORT]}))
    hide(id_of(store, PORT[0]), store=store, now=NOW)
    parent = SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/b", started=START - timedelta(days=1))
    lines = fork.path.read_text().splitlines()[1:]
    parent.path.write_text("\n".join([parent.path.read_text().splitlines()[0], *lines]) + "\n")
    distil(parent.path, Spoken({0: [REWORDED]}))
    distil(parent.path, Spoken({0: [REWORDED]}), redo(store, 0))
    assert distil.memories() == {}


def test_undone_it_is_back_as_it_was(
    hidden_id: str, distil: Distiller, session: SessionWriter, store: MemoryStore
) -> None:
    unhide(hidden_id, store=store)
    assert set(distil.memories()) == {PORT[0], HOST[0]}
    assert id_of(store, PORT[0]) == hidden_id
    assert all_hidden(store) == []
    distil(session.path, Spoken({0: [PORT, HOST]}), redo(store, 0))
    assert set(distil.memories()) == {PORT[0], HOST[0]}


def test_what_is_no_memory_can_t_be_hidden_and_what_is_not_hidden_not_put_back(
    hidden_id: str, store: MemoryStore, session: SessionWriter
) -> None:
    with pytest.raises(InputError, match="hidden already"):
        hide(hidden_id, store=store, now=NOW)
    with pytest.raises(InputError, match="No memory has the id"):
        hide(f"{session.session_id}_0", store=store, now=NOW)
    with pytest.raises(InputError, match="is not hidden"):
        unhide(id_of(store, HOST[0]), store=store)


def test_a_crash_between_the_note_and_the_removal_is_made_good_by_hiding_it_again(
    distil: Distiller, session: SessionWriter, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    distil(session.path, Spoken({0: [PORT]}))
    memory_id = id_of(store, PORT[0])
    with monkeypatch.context() as crash:

        def dies(*_: object) -> int:
            raise KeyboardInterrupt

        crash.setattr(store, "delete", dies)
        with pytest.raises(KeyboardInterrupt):
            hide(memory_id, store=store, now=NOW)
    hide(memory_id, store=store, now=NOW)
    assert distil.memories() == {}
    assert store.count(Meta, {"doc_id": f"hidden:{memory_id}"}) == 1


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("listens on port 4173", "the server listens on port 4173 now", True),
        ("the server listens on port", "on port 4173 it listens", False),
        ("listens on PORT 4173", "listens  on port 4173", True),
        ("a b c d", "e f g h", False),
        ("", "anything", False),
    ],
)
def test_quotes_overlap_where_they_share_most_of_the_shorter_one(one: str, other: str, overlap: bool) -> None:
    assert quotes_overlap(one, other) is overlap
