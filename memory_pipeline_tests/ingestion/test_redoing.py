"""What is done again, and what is not: never what merely has another prompt or model, unless a person asks for it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memory_pipeline.distillation import ExtractiveEngine
from memory_pipeline.documents import Summary, Turn
from memory_pipeline.ingestion.estimating import estimate, turns_to_come
from memory_pipeline.ingestion.planning import waiting_sessions
from memory_pipeline.ingestion.progress import Budget
from memory_pipeline.ingestion.redoing import Selection, extracted_turns, selected_turns
from memory_pipeline.sessions import session_file
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller, Spoken
from memory_pipeline_tests.support.pi_files import START, SessionWriter

NEW_PROMPT = Spoken({0: ["Port 4173 is the preview's."]}, prompt_version="llm-2")
OTHER_MODEL = Spoken({0: ["Port 4173 is the preview's."]}, model="larger")


@pytest.fixture
def sessions(tmp_path: Path, distil: Distiller) -> list[SessionWriter]:
    """Two sessions of one turn each, a month apart, distilled by a model."""
    made = [
        SessionWriter(tmp_path / "sessions", cwd=f"/home/ann/src/{name}", started=START + timedelta(days=days)).turn(
            f"Which port does {name} use?", "Port 4173."
        )
        for name, days in (("app", 0), ("shop", 30))
    ]
    for session in made:
        distil(session.path, Spoken({0: ["The preview uses port 4173."]}))
    return made


def selected(store: MemoryStore, selection: Selection, engine: Spoken = OTHER_MODEL) -> set[str]:
    return set(selected_turns(store, selection, engine))


@pytest.mark.parametrize("engine", [NEW_PROMPT, OTHER_MODEL], ids=["prompt", "model"])
def test_another_prompt_or_model_alone_is_no_reason(
    distil: Distiller, sessions: list[SessionWriter], store: MemoryStore, engine: Spoken
) -> None:
    assert waiting_sessions(store).turns == 0
    assert distil(sessions[0].path, engine).unchanged == 1
    assert engine.asked == []


def test_asked_for_it_is_one_and_the_old_memory_goes_when_its_successor_is_there(
    distil: Distiller, sessions: list[SessionWriter], store: MemoryStore
) -> None:
    redo = selected_turns(store, Selection(), NEW_PROMPT)
    assert set(redo) == {f"{session.session_id}_0" for session in sessions}
    assert waiting_sessions(store, redo=redo).turns == 2
    distil(sessions[0].path, NEW_PROMPT, Budget(redo=frozenset(redo)))
    assert {memory.summary for memory in store.scan(Summary)} == {
        "The preview uses port 4173.",
        "Port 4173 is the preview's.",
    }
    assert set(selected_turns(store, Selection(), NEW_PROMPT)) == {f"{sessions[1].session_id}_0"}


def test_what_was_made_with_the_same_is_never_done_again(sessions: list[SessionWriter], store: MemoryStore) -> None:
    assert selected(store, Selection(), Spoken({})) == set()
    assert selected(store, Selection(model="capable"), Spoken({})) == set()


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (Selection(project="shop"), {1}),
        (Selection(project="/home/ann/src/app"), {0}),
        (Selection(project="nowhere"), set()),
        (Selection(before="2026-03-15T00:00:00.000Z"), {0}),
        (Selection(model="capable"), {0, 1}),
        (Selection(model="another"), set()),
        (Selection(model="capable", project="shop", before="2026-03-15T00:00:00.000Z"), set()),
    ],
)
def test_it_is_selected_by_age_project_and_model(
    sessions: list[SessionWriter], store: MemoryStore, selection: Selection, found: set[int]
) -> None:
    assert selected(store, selection) == {f"{sessions[number].session_id}_0" for number in found}


def test_extraction_takes_the_place_of_a_model_s_memories_only_where_the_model_is_named(
    sessions: list[SessionWriter], store: MemoryStore
) -> None:
    engine = ExtractiveEngine()
    assert selected_turns(store, Selection(), engine) == {}
    assert len(selected_turns(store, Selection(model="capable"), engine)) == 2


def test_extracted_turns_are_done_again_newest_first_and_so_many_a_run(
    distil: Distiller, store: MemoryStore, tmp_path: Path
) -> None:
    session = SessionWriter(tmp_path / "sessions")
    for number in range(5):
        session.turn(f"Part {number}?", f"It uses `queue-{number}`.")
    distil(session.path, ExtractiveEngine())
    redo = extracted_turns(store, 2)
    assert list(redo) == [f"{session.session_id}_4", f"{session.session_id}_3"]
    engine = Spoken({})
    distil(session.path, engine, Budget(redo=frozenset(redo)))
    assert engine.asked == [f"{session.session_id}_3", f"{session.session_id}_4"]
    assert list(extracted_turns(store, 2)) == [f"{session.session_id}_2", f"{session.session_id}_1"]
    assert extracted_turns(store, 0) == {}


def test_a_redone_turn_that_fails_keeps_what_it_had(
    distil: Distiller, sessions: list[SessionWriter], store: MemoryStore
) -> None:
    from memory_pipeline.distillation import Outcome

    redo = frozenset(selected_turns(store, Selection(), OTHER_MODEL))
    failing = Spoken({0: Outcome("outage", error="gone", server_at_fault=True)}, model="larger")
    distil(sessions[0].path, failing, Budget(redo=redo))
    assert store.count(Summary) == 2
    assert store.count(Turn, {"distillation.state": "outage"}) == 1


def test_the_estimate_follows_the_pace_of_what_was_done(sessions: list[SessionWriter], store: MemoryStore) -> None:
    for turn in list(store.scan(Turn)):
        state = turn.distillation.model_copy(update={"seconds": 3.0, "prompt_tokens": 900, "completion_tokens": 100})
        store.upsert(Turn, [turn.model_copy(update={"distillation": state})])
    found = estimate(store, 10, "llm")
    assert (found.turns, found.tokens, found.seconds, found.measured) == (10, 10_000, 30.0, True)
    assert estimate(None, 10, "llm").seconds is None
    assert estimate(None, 10, "llm").tokens > 0
    assert estimate(None, 10, "extractive").tokens == 0
    assert estimate(store, 0, "llm").seconds == 0.0


def test_turns_to_come_are_counted_without_storing_anything(
    sessions: list[SessionWriter], store: MemoryStore, settings: Settings, tmp_path: Path
) -> None:
    sessions[0].turn("And the host?", "Zeta.")
    new = SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/new").turn("a?", "b.").turn("c?", "d.")
    files = [session_file(session.path, settings) for session in (*sessions, new)]
    assert turns_to_come(files, store) == 1 + 1 + 2  # a file that changed may have changed its last turn
    assert turns_to_come(files, None) == 2 + 1 + 2
    assert store.count(Turn) == 2
