"""The audit counts what is wrong with a store, each fault by its check and no other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memory_pipeline.distillation import Outcome
from memory_pipeline.documents import RawMessage, SourceRef, Summary, Turn
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.auditing import CHECKS, Limit, audit, limits_of
from memory_pipeline.ingestion.progress import Budget
from memory_pipeline.ingestion.suspicions import junk_shape
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller, Spoken
from memory_pipeline_tests.support.pi_files import SessionWriter

SOUND = ("The preview server of Anna listens on port 4173.", "listens on  Port 4173")


@pytest.fixture
def memory(distil: Distiller, tmp_path: Path, store: MemoryStore) -> Summary:
    """One sound memory with a vector, of the first of two turns."""
    session = SessionWriter(tmp_path / "sessions")
    session.turn("For Anna: the preview server listens on port 4173.", "I wrote `vite.config.ts`.").turn("And?", "Ok.")
    distil(session.path, Spoken({0: [SOUND]}))
    (made,) = store.scan(Summary)
    store.put_vectors(Summary, {made.doc_id: [1.0, 0.0]}, model="words")
    return made


def changed(store: MemoryStore, memory: Summary, **fields: object) -> None:
    store.upsert(Summary, [memory.model_copy(update=fields)])


def failed(store: MemoryStore) -> set[str]:
    return {name for name, finding in audit(store).items() if not finding.passed}


def test_a_sound_store_passes_every_check(memory: Summary, store: MemoryStore) -> None:
    found = audit(store)
    assert set(found) == set(CHECKS)
    assert {name: finding.count for name, finding in found.items() if finding.count} == {}
    assert failed(store) == set()


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": "The preview server of Bertha listens on port 4173."},
        {"summary": "The preview server of Anna listens on port 4174."},
        {"summary": "The preview server of Anna listens on port 417."},
        {"summary": "The preview server of Anna reads `vite.config.js`."},
        {"evidence": ["listens on port 4174"]},
        {"evidence": ["wrote vite.config.ts"]},  # said, but not by the message that it cites
    ],
)
def test_names_values_and_quotes_that_nobody_said_are_ungrounded(
    memory: Summary, store: MemoryStore, fields: dict[str, object]
) -> None:
    changed(store, memory, **fields)
    found = audit(store)["ungrounded"]
    assert (found.count, found.passed, found.examples[0][0]) == (1, False, memory.doc_id)
    assert failed(store) == {"ungrounded"}


def test_what_the_rest_of_the_turn_says_is_grounded(memory: Summary, store: MemoryStore) -> None:
    changed(store, memory, summary="Anna's port 4173 stands in `vite.config.ts`.")
    assert failed(store) == set()


def test_a_citation_of_a_message_that_is_not_stored_is_an_orphan(memory: Summary, store: MemoryStore) -> None:
    gone = memory.source_refs[0].model_copy(update={"doc_id": f"{memory.source_refs[0].turn_id}_99"})
    changed(store, memory, source_refs=[*memory.source_refs, gone])
    assert failed(store) == {"orphans"}


def test_a_memory_of_a_turn_that_is_gone_is_an_orphan(memory: Summary, store: MemoryStore) -> None:
    store.delete(Turn, {"turn_id": memory.source_refs[0].turn_id})
    assert failed(store) == {"orphans"}


def test_a_memory_of_a_branch_that_was_given_up_is_off_path(memory: Summary, store: MemoryStore) -> None:
    (turn,) = store.get(Turn, [memory.source_refs[0].turn_id])
    store.upsert(Turn, [turn.model_copy(update={"on_active_path": False})])
    assert failed(store) == {"off_path"}


def test_a_memory_of_a_turn_that_changed_since_is_stale_and_only_told(memory: Summary, store: MemoryStore) -> None:
    (turn,) = store.get(Turn, [memory.source_refs[0].turn_id])
    store.upsert(Turn, [turn.model_copy(update={"text": turn.text + " More."})])
    assert audit(store)["stale"].count == 1
    assert failed(store) == set()


def test_a_memory_without_a_vector_is_counted(memory: Summary, store: MemoryStore) -> None:
    store.drop_vectors(Summary)
    assert failed(store) == {"missing_vectors"}


def test_a_memory_that_says_again_what_another_one_says_is_a_duplicate(memory: Summary, store: MemoryStore) -> None:
    again = "On port 4173 listens the preview server of Anna."
    second = memory.model_copy(update={"doc_id": "second", "summary": again})
    store.upsert(Summary, [second])
    found = audit(store)["duplicates"]
    assert (found.count, found.of, found.share, found.passed) == (1, 2, 0.5, False)
    assert audit(store, limits={"duplicates": Limit(0.5, is_share=True)})["duplicates"].passed


def test_turns_that_came_to_no_outcome_are_failures_and_waiting_ones_are_not(
    distil: Distiller, tmp_path: Path, store: MemoryStore
) -> None:
    """A parse error that is swallowed loses most of what was said, unnoticed; so the share is checked."""
    session = SessionWriter(tmp_path / "sessions")
    for number in range(21):
        session.turn(f"Part {number}?", "Fine.")
    broken = Outcome("invalid", error="the answer is not JSON")
    distil(session.path, Spoken({0: broken}), Budget(turns=20))
    found = audit(store)["failures"]
    assert (found.count, found.of, found.passed) == (1, 20, True)
    distil(session.path, Spoken({0: broken, 20: broken}))
    found = audit(store)["failures"]
    assert (found.count, found.of, found.passed) == (2, 21, False)
    assert found.examples[0] == (f"{session.session_id}_0", "invalid: the answer is not JSON")


@pytest.mark.parametrize(
    ("summary", "junk"),
    [
        ("There is no relevant information in this conversation.", True),
        ("Nothing worth remembering here.", True),
        ("I cannot help with extracting memories from this.", True),
        ('{"summary": "The port is 4173", "tags": []}', True),
        ('{"type": "object", "$defs": {}}', True),
        ("Hello there!", True),
        ("Done.", True),
        ("The parser cannot help with nested quotes, so `quote_aware` was added.", False),
        ("No PDF is sent for orders under 20 euros.", False),
        ("Hello-World is the name of the sample app that CI builds on every push to main.", False),
        ("预览服务器使用端口 4173。", False),
    ],
)
def test_what_has_not_the_shape_of_a_memory_is_junk(summary: str, junk: bool) -> None:
    assert (junk_shape(summary) is not None) is junk


def test_only_the_sessions_asked_for_are_looked_at(memory: Summary, store: MemoryStore) -> None:
    store.drop_vectors(Summary)
    assert audit(store, sessions=[memory.source_refs[0].session_id])["missing_vectors"].count == 1
    assert audit(store, sessions=["another"])["missing_vectors"].count == 0
    assert set(audit(store, only=["failures"])) == {"failures"}


def test_limits_are_read_as_people_write_them() -> None:
    assert limits_of(["ungrounded=2", "missing-vectors=1", "duplicates = 5%"]) == {
        "ungrounded": Limit(2),
        "missing_vectors": Limit(1),
        "duplicates": Limit(0.05, is_share=True),
    }
    for wrong in ("everything=1", "junk", "junk=many", "junk=-1"):
        with pytest.raises(InputError, match="CHECK=NUMBER"):
            limits_of([wrong])


def test_thousands_of_memories_are_audited_in_seconds(memory: Summary, store: MemoryStore) -> None:
    """Sessions of 50 turns; measured with 10,000 memories: 17 s on two cores with other programs running."""
    (turn,) = store.get(Turn, [memory.source_refs[0].turn_id])
    (message,) = store.get(RawMessage, [memory.source_refs[0].doc_id or ""])
    turns, messages, memories = [], [], []
    for number in range(2_000):
        session, index = f"session-{number // 50}", number % 50
        turn_id = Turn.make_id(session, index)
        text = f"For Anna: the service svc{number} of team {index} listens on port {number}, behind `proxy-{index}`."
        place = {"session_id": session, "turn_id": turn_id, "turn_index": index}
        doc_id = RawMessage.make_id(session, turn_id, 0)
        messages.append(message.model_copy(update={**place, "doc_id": doc_id, "content": text}))
        turns.append(turn.model_copy(update={**place, "doc_id": turn_id, "text": text}))
        ref = SourceRef(session_id=session, turn_id=turn_id, doc_id=doc_id)
        summary = f"The service svc{number} listens on port {number}, behind `proxy-{index}`."
        fields = {"doc_id": f"m{number}", "summary": summary, "source_refs": [ref], "evidence": [text[:40]]}
        memories.append(memory.model_copy(update=fields))
    for kind, documents in ((RawMessage, messages), (Turn, turns), (Summary, memories)):
        assert not store.upsert(kind, documents).refused
    started = time.process_time()
    found = audit(store)
    seconds = time.process_time() - started
    assert (found["ungrounded"].count, found["orphans"].count, found["duplicates"].count) == (0, 0, 0)
    assert seconds < 20, f"{seconds:.1f} s"
