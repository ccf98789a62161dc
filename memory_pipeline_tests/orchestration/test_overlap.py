"""Distilling while the rest is indexed: what it gets done early, and that what goes wrong there is left for later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from memory_pipeline.documents import FINISHED, Summary, Turn
from memory_pipeline.orchestration import local_run
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline.orchestration.local_run import LocalRuns, run_index
from memory_pipeline.orchestration.reporting import LogReporter
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.orchestration.workplace import DOWN, Workplace
from memory_pipeline_tests.support.pi_files import SessionWriter
from memory_pipeline_tests.support.scripted_server import ScriptedServer


@pytest.fixture(autouse=True)
def batches_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "OVERLAPPED_BATCH", 2)
    monkeypatch.setattr(local_run, "EMBEDDED_BEHIND", 1)


@pytest.fixture
def sessions(workplace: Workplace) -> list[SessionWriter]:
    return [workplace.session(name, age=500 - number) for number, name in enumerate("abcde")]


@dataclass
class Asked:
    """Answers whether to distil, and notes how far the store is whenever it is asked."""

    workplace: Workplace
    answer: bool = True
    states: list[tuple[int, int, int]] = field(default_factory=list)

    def __call__(self, session_ids: Sequence[str]) -> bool:
        self.states.append(progress(self.workplace))
        return self.answer


def progress(workplace: Workplace) -> tuple[int, int, int]:
    """Turns that are indexed, of these distilled, and memories with a vector."""
    with workplace.store() as store:
        turns = store.count(Turn)
        distilled = store.count(Turn, {"distillation.state": FINISHED})
        return turns, distilled, store.count(Summary) - store.count(Summary, {"embedding_model": None})


def run(sessions: Sequence[SessionWriter], asked: Asked) -> LocalRuns:
    return run_index(load_settings(), [session.session_id for session in sessions], LogReporter(), asked)


@pytest.mark.usefixtures("server")
def test_sessions_are_distilled_while_others_wait_to_be_indexed(
    workplace: Workplace, sessions: list[SessionWriter]
) -> None:
    asked = Asked(workplace)
    assert run(sessions, asked).failures == []
    assert asked.states == [(2, 0, 0), (4, 2, 0), (5, 4, 2)]
    assert progress(workplace) == (5, 5, 5)


@pytest.mark.usefixtures("server")
def test_a_run_of_one_batch_and_sessions_that_are_not_to_be_distilled_are_left_alone(
    workplace: Workplace, sessions: list[SessionWriter]
) -> None:
    asked = Asked(workplace, answer=False)
    run(sessions[:2], asked)
    assert asked.states == []
    run(sessions[2:], asked)
    assert len(asked.states) == 2
    assert progress(workplace) == (5, 0, 0)


def test_an_embedder_that_fails_ends_neither_the_indexing_nor_the_run(
    workplace: Workplace, sessions: list[SessionWriter], server: ScriptedServer
) -> None:
    server.always("/v1/embeddings", DOWN)
    asked = Asked(workplace)
    done = run(sessions, asked)
    assert (done.failures, done.contained) == ([], [])
    assert len(asked.states) == 2  # the second batch wanted the first one's vectors
    assert progress(workplace) == (5, 4, 0)


@pytest.mark.usefixtures("server")
def test_what_a_check_blocks_gets_no_vector_here_either(workplace: Workplace, sessions: list[SessionWriter]) -> None:
    first = sessions[0]
    workplace.run(INDEX_JOB, first.session_id)
    assert workplace.run(ENRICH_JOB, first.session_id).success
    with workplace.store() as store:
        [memory] = store.scan(Summary)
        store.drop_vectors(Summary)
        store.upsert(Summary, [memory.model_copy(update={"summary": "Bertha's logs go to `/var/log/b.log`."})])
    first.turn("And the metrics?", "They go to `/var/lib/prometheus`, because `journald` has no room for metrics.")
    assert run(sessions, Asked(workplace)).failures == []
    turns, _, _ = progress(workplace)
    assert turns == 6
    with workplace.store() as store:
        assert memory.doc_id in {summary.doc_id for summary in store.scan(Summary, {"embedding_model": None})}
