"""Turns that forks repeat: distilled once, cited everywhere, the same in whatever order sessions come in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.distillation import ExtractiveEngine
from memory_pipeline.documents import RawMessage, Summary
from memory_pipeline.ingestion.distilling import Distilled, distil_session, embed_session
from memory_pipeline.ingestion.planning import waiting_sessions
from memory_pipeline.ingestion.progress import Budget, Silent
from memory_pipeline.ingestion.status import store_status
from memory_pipeline.redaction import Redactor
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, header, user

SYSTEM: Row = {
    "type": "message", "id": "y0", "parentId": None, "timestamp": "2026-01-01T00:00:00.500Z",
    "message": {"role": "system", "content": "You are a coding agent."},
}  # fmt: skip


def at(second: int, *rows: Row) -> list[Row]:
    return [{**row, "timestamp": f"2026-01-01T00:{second:02d}:{n:02d}.000Z"} for n, row in enumerate(rows)]


DATABASE = at(
    1,
    user("u1", "y0", "Which database do we take?"),
    assistant("a1", "u1", "We decided on PostgreSQL 16, because `pgvector` is there and the team knows it."),
)
THANKS = at(2, user("u2", "a1", "Thanks!"), assistant("a2", "u2", "You are welcome."))
PORT = at(3, user("u3", "a2", "Which port?"), assistant("a3", "u3", "The preview server listens on port 4173."))
LOGS = at(4, user("v3", "a2", "Where do logs go?"), assistant("b3", "v3", "Logs go to `/var/log/app.log` since May."))

FILES: dict[str, list[Row]] = {
    "s1": [header(id="s1"), SYSTEM, *DATABASE, *THANKS, *PORT],
    "s2": [header(id="s2", timestamp="2026-01-02T00:00:00.000Z"), SYSTEM, *DATABASE, *THANKS, *LOGS],
    "s3": [header(id="s3", timestamp="2026-01-03T00:00:00.000Z"), SYSTEM, *DATABASE],
}


@dataclass(frozen=True, slots=True)
class World:
    """A store of its own that sessions come into one by one."""

    folder: Path
    index: Indexer

    def add(self, name: str, rows: list[Row] | None = None) -> str:
        path = self.folder / "sessions" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(*(rows or FILES[name])))
        return self.index(path).manifest.doc_id

    def distil(self, *names: str) -> Distilled:
        engine = ExtractiveEngine()
        total = Distilled()
        for name in names:
            done = distil_session(
                name,
                store=self.index.store,
                engine=engine,
                budget=Budget(),
                progress=Silent(),
                now=lambda: "2026-06-01T00:00:00.000Z",
            )
            total.turns += done.turns
        return total

    def memories(self) -> list[Summary]:
        return list(self.index.store.scan(Summary))

    def memory(self, word: str) -> Summary:
        (found,) = [memory for memory in self.memories() if word in memory.summary]
        return found

    def state(self) -> list[dict[str, Any]]:
        """All that the store holds, but for how long things took."""
        turns = [turn.model_dump() for turn in self.index.turns()]
        for turn in turns:
            turn["distillation"].update(seconds=0, attempts=0)
        return [memory.model_dump() for memory in [*self.memories(), *self.index.messages()]] + turns


@pytest.fixture
def worlds(tmp_path: Path, redactor: Redactor) -> Iterator[Iterator[World]]:
    """As many empty worlds as one asks for."""

    def make() -> Iterator[World]:
        for number in range(100):
            folder = tmp_path / str(number)
            settings = load_settings(env_file=None, data_dir=folder / "data", sessions_dir=folder / "sessions")
            with open_store(settings) as store:
                yield World(folder, Indexer(settings, store, redactor))

    yield make()


@pytest.fixture
def world(worlds: Iterator[World]) -> World:
    return next(worlds)


def test_a_copied_turn_is_distilled_once_and_its_memory_cites_every_copy(world: World) -> None:
    for name in FILES:
        world.add(name)
    assert world.distil(*FILES).turns == 4
    memory = world.memory("PostgreSQL")
    cited = [ref.doc_id for ref in memory.source_refs]
    assert cited == [f"{s}_{s}_0_{n}" for s in FILES for n in (1, 0)]  # the answer, and the question it answers
    assert [turn.copy_of for turn in world.index.turns()] == [None, None, None, "s1_0", "s1_1", None, "s1_0"]
    copies = {message.doc_id: message.copy_of for message in world.index.messages() if message.copy_of}
    assert copies == {
        "s2_s2_-1_0": "s1_s1_-1_0", "s2_s2_0_0": "s1_s1_0_0", "s2_s2_0_1": "s1_s1_0_1",
        "s2_s2_1_0": "s1_s1_1_0", "s2_s2_1_1": "s1_s1_1_1",
        "s3_s3_-1_0": "s1_s1_-1_0", "s3_s3_0_0": "s1_s1_0_0", "s3_s3_0_1": "s1_s1_0_1",
    }  # fmt: skip
    assert waiting_sessions(world.index.store).turns == 0
    status = store_status(world.index.store, "extractive")
    assert (status.turns, status.turns_copied, status.turns_waiting) == (7, 3, 0)


@pytest.mark.parametrize("distil_each", [True, False], ids=["distilled at once", "distilled at the end"])
def test_forks_come_to_the_same_in_any_order(worlds: Iterator[World], distil_each: bool) -> None:
    states = []
    for order, world in zip(permutations(FILES), worlds, strict=False):
        turns = 0
        for name in order:
            world.add(name)
            if distil_each:
                turns += world.distil(name).turns
        turns += world.distil(*FILES).turns
        assert turns == 4, order
        states.append(world.state())
    assert len(states) == 6
    assert all(state == states[0] for state in states)


def test_reading_everything_again_changes_nothing(world: World) -> None:
    for name in FILES:
        world.add(name)
    world.distil(*FILES)
    before = world.state()
    for name, rows in FILES.items():
        world.add(name, [*rows, {"type": "label", "id": "l1", "parentId": rows[-1]["id"], "targetId": "u1"}])
    assert world.state() == before


def test_a_memory_keeps_its_vector_when_it_moves_to_an_older_session(world: World) -> None:
    class Embedder:
        model, dimensions = "two", 2

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[0.6, 0.8] for _ in texts]

        def close(self) -> None: ...

    world.add("s2")
    world.distil("s2")
    embed_session("s2", store=world.index.store, embedder=Embedder(), progress=Silent())
    world.add("s1")
    (memory,) = world.index.store.scan(Summary, {"source_refs.turn_id": "s1_0"}, vectors=True)
    assert memory.source_refs[0].turn_id == "s1_0"
    assert memory.embedding_model == "two"
    assert memory.summary_embedding == pytest.approx([0.6, 0.8])


def test_what_the_parent_gave_up_counts_where_the_fork_goes_on_with_it(world: World) -> None:
    again = at(5, user("u9", "y0", "Forget it."), assistant("a9", "u9", "Fine."))
    abandoned = [*FILES["s1"], *again]
    world.add("s1", abandoned)
    world.distil("s1")
    assert world.memories() == []
    world.add("s2")
    world.distil("s1", "s2")
    cited = [ref.turn_id for ref in world.memory("PostgreSQL").source_refs]
    assert list(dict.fromkeys(cited)) == ["s2_0", "s1_0"]
    assert {turn.turn_id: turn.copy_of for turn in world.index.turns()}["s1_0"] == "s2_0"


def test_a_turn_that_grows_after_it_was_forked_is_no_copy_any_more(world: World) -> None:
    world.add("s1")
    world.add("s3")
    world.distil("s1", "s3")
    more = at(6, assistant("a1b", "a1", "The extension `pg_trgm` is needed too, because of fuzzy search."))
    world.add("s3", [*FILES["s3"], *more])
    assert [turn.copy_of for turn in world.index.turns()] == [None] * 4
    assert {ref.session_id for ref in world.memory("PostgreSQL").source_refs} == {"s1"}
    assert all(message.copy_of is None for message in world.index.store.scan(RawMessage, {"turn_id": "s3_0"}))
    world.distil("s1", "s3")
    assert {"s1", "s3"} <= {memory.source_refs[0].session_id for memory in world.memories()}
    assert all(len({ref.session_id for ref in memory.source_refs}) == 1 for memory in world.memories())


def test_the_copies_of_the_labelled_set_are_found(world: World, shared_data: Path) -> None:
    labels = json.loads((shared_data / "evalset" / "labels.json").read_text())
    for path in sorted((shared_data / "evalset" / "sessions").rglob("*.jsonl")):
        world.index(path)
    copies = [turn for turn in world.index.turns() if turn.copy_of]
    assert len(copies) == len(labels["duplicate_turns"]) == 3
