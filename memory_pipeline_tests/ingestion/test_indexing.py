"""What is read of a session file stays, whatever becomes of the file; what is new in it is read once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.documents import Document, RawMessage, Turn
from memory_pipeline.ingestion.indexing import ingest_messages, record_session
from memory_pipeline.ingestion.planning import plan_index
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import SessionFile, discover, session_file
from memory_pipeline.settings import Settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import BulkResult, MemoryStore
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, header, user

FIRST = [user("u1", None, "Which port?"), assistant("a1", "u1", "Port 4173.")]
SECOND = [user("u2", "a1", "Which host?"), assistant("a2", "u2", "Host zeta.")]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / "--p--" / "2026-01-01T00-00-00-000Z_s1.jsonl"
    path.parent.mkdir(parents=True)
    return path


def write(path: Path, *rows: Row | str | bytes) -> Path:
    path.write_bytes(encode(header(), *rows))
    return path


def at(row: Row, second: int) -> Row:
    return {**row, "timestamp": f"2026-01-01T00:01:{second:02d}.000Z"}


def dumped(documents: Iterable[Document]) -> list[dict[str, Any]]:
    return [document.model_dump() for document in documents]


def contents(index: Indexer) -> list[str]:
    return [message.content for message in index.messages()]


def test_a_file_is_read_once(log: Path, index: Indexer) -> None:
    first = index(write(log, *FIRST, *SECOND))
    assert (first.changed, first.raw.written, first.turns.written) == (True, 4, 2)
    again = index(log)
    assert (again.changed, again.raw.written, again.turns.written) == (False, 0, 0)
    assert again.manifest == first.manifest


def test_what_a_shorter_file_no_longer_holds_is_kept_and_named(log: Path, index: Indexer) -> None:
    index(write(log, *FIRST, *SECOND))
    before = index.messages(), index.turns()
    shrunk = index(write(log, *FIRST))
    assert (index.messages(), index.turns()) == before
    assert [reason for reason in shrunk.problems if "rewritten" in reason and "2 messages are gone" in reason]
    assert shrunk.manifest.problem_count == 1
    assert index(log).manifest == shrunk.manifest


def test_that_messages_are_gone_stays_named_when_the_file_is_only_touched(log: Path, index: Indexer) -> None:
    index(write(log, *FIRST, *SECOND))
    shrunk = index(write(log, *FIRST))
    touch(log)
    assert index(log).problems == shrunk.problems


def touch(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000_000))


def test_a_rewritten_file_takes_no_message_s_place_and_what_is_new_in_it_comes_in_behind(
    log: Path, index: Indexer
) -> None:
    index(write(log, *FIRST))
    other = [at(user("x1", None, "Something else entirely?"), 1), at(assistant("y1", "x1", "Yes, entirely."), 2)]
    rewritten = index(write(log, *other, *(at(row, 3) for row in SECOND)))
    assert contents(index) == [
        "Which port?", "Port 4173.", "Something else entirely?", "Yes, entirely.", "Which host?", "Host zeta.",
    ]  # fmt: skip
    assert any("2 messages are gone" in reason for reason in rewritten.problems)


def test_a_turn_that_another_process_wrote_away_stays_and_the_next_one_is_no_other(log: Path, index: Indexer) -> None:
    third = [at(user("u3", "a2", "And the user?"), 5), at(assistant("a3", "u3", "User deploy."), 6)]
    index(write(log, *FIRST, *SECOND))
    rows = [*FIRST, *({**row, "parentId": "a1" if row["id"] == "u3" else "u3"} for row in third)]
    index(write(log, *rows))
    everything = ["Which port?", "Port 4173.", "Which host?", "Host zeta.", "And the user?", "User deploy."]
    assert contents(index) == everything
    assert [turn.turn_index for turn in index.turns()] == [0, 1, 2]
    grown = index(write(log, *rows, at(assistant("a3b", "a3", "Since May."), 7)))
    assert contents(index) == [*everything, "Since May."]
    assert grown.raw.written == 1


def test_messages_that_move_up_because_a_question_was_dropped_are_not_doubled(log: Path, index: Indexer) -> None:
    index(write(log, *(at(row, n) for n, row in enumerate(FIRST + SECOND))))
    moved = {**at(SECOND[1], 3), "parentId": "a1"}
    index(write(log, *(at(row, n) for n, row in enumerate(FIRST)), moved))
    assert contents(index) == ["Which port?", "Port 4173.", "Which host?", "Host zeta."]


@pytest.mark.parametrize(
    "gone",
    [
        "[Compacted history content evicted to durable cold storage]",
        "Port [Session persistence truncated large content]",
    ],
)
def test_a_placeholder_takes_no_text_away_however_long_it_is(log: Path, index: Indexer, gone: str) -> None:
    index(write(log, *FIRST))
    evicted = index(write(log, FIRST[0], assistant("a1", "u1", gone), *SECOND))
    assert contents(index) == ["Which port?", "Port 4173.", "Which host?", "Host zeta."]
    assert evicted.raw.kept == 1
    assert any("1 say less" in reason for reason in evicted.problems)


def test_new_ids_that_pi_gives_when_it_migrates_a_file_make_no_new_messages(log: Path, index: Indexer) -> None:
    old = [{k: v for k, v in at(row, n).items() if k not in ("id", "parentId")} for n, row in enumerate(FIRST + SECOND)]
    log.write_bytes(encode({**header(), "version": 1}, *old))
    index(log)
    ids = ["0a", "0b", "0c", "0d"]
    migrated = [{**row, "id": ids[n], "parentId": ids[n - 1] if n else None} for n, row in enumerate(old)]
    index(write(log, *migrated, at(assistant("0e", "0d", "Or host eta."), 9)))
    assert contents(index) == ["Which port?", "Port 4173.", "Which host?", "Host zeta.", "Or host eta."]
    index(write(log, *({**row, "id": f"1{row['id']}", "parentId": None} for row in migrated)))
    assert len(index.messages()) == 5


def test_a_file_without_times_or_ids_is_not_doubled_when_it_grows(log: Path, index: Indexer) -> None:
    """Its messages take the time that the file was changed last, which is another one each time."""
    rows = [{"type": "message", "message": row["message"]} for row in FIRST + SECOND]
    log.write_bytes(encode(*rows[:2]))
    index(log)
    with log.open("ab") as file:
        file.write(encode(*rows[2:]))
    touch(log)
    index(log)
    assert contents(index) == ["Which port?", "Port 4173.", "Which host?", "Host zeta."]


def test_a_message_that_was_cut_keeps_its_full_text_and_one_that_got_longer_takes_it(log: Path, index: Indexer) -> None:
    index(write(log, user("u1", None, "Which port?"), assistant("a1", "u1", "Port 4173, decided in March.")))
    index(write(log, user("u1", None, "Which port?"), assistant("a1", "u1", "[old output]")))
    assert contents(index) == ["Which port?", "Port 4173, decided in March."]
    grown = index(
        write(log, user("u1", None, "Which port?"), assistant("a1", "u1", "Port 4173, decided in March by us."))
    )
    assert contents(index) == ["Which port?", "Port 4173, decided in March by us."]
    assert grown.problems == []


def test_a_half_written_last_line_is_read_once_it_is_whole(log: Path, index: Indexer) -> None:
    whole = encode(header(), *FIRST, *SECOND)
    log.write_bytes(whole[:-20])
    torn = index(log)
    assert contents(index) == ["Which port?", "Port 4173.", "Which host?"]
    assert torn.problems == ["unfinished last line, left for the next time"]
    assert index(log).raw.written == 0
    log.write_bytes(whole)
    mended = index(log)
    assert contents(index) == ["Which port?", "Port 4173.", "Which host?", "Host zeta."]
    assert mended.raw.written == 1
    assert mended.problems == []


def test_growth_writes_only_what_is_new(log: Path, index: Indexer, store: MemoryStore) -> None:
    index(write(log, *FIRST))
    (turn,) = index.turns()
    done = turn.model_copy(update={"distillation": turn.distillation.model_copy(update={"state": "none"})})
    store.upsert(Turn, [done])
    grown = index(write(log, *FIRST, *SECOND))
    assert (grown.raw.written, grown.turns.written) == (2, 1)
    assert [turn.distillation.state for turn in index.turns()] == ["none", "pending"]


def test_a_turn_that_grew_waits_again(log: Path, index: Indexer, store: MemoryStore) -> None:
    index(write(log, *FIRST))
    (turn,) = index.turns()
    done = turn.model_copy(update={"distillation": turn.distillation.model_copy(update={"state": "stored"})})
    store.upsert(Turn, [done])
    index(write(log, *FIRST, assistant("a1b", "a1", "It is free.")))
    assert [turn.distillation.state for turn in index.turns()] == ["pending"]


BRANCHED = [
    *FIRST,
    user("u2", "a1", "Try the old way."),
    assistant("a2", "u2", "Done the old way."),
    user("u3", "a1", "No, take it back; the new way."),
    assistant("a3", "u3", "Done the new way."),
    assistant("a3b", "u3", "Done the new way, better."),
]


def test_a_file_read_line_by_line_comes_to_the_same_as_one_read_at_once(
    log: Path, index: Indexer, redactor: Redactor, tmp_path: Path, settings: Settings
) -> None:
    lines = encode(header(), *BRANCHED).splitlines(keepends=True)
    for end in range(2, len(lines) + 1):
        log.write_bytes(b"".join(lines[:end]))
        index(log)
    apart = settings.model_copy(update={"data_dir": tmp_path / "other data"})
    with open_store(apart) as store:
        at_once = Indexer(apart, store, redactor)
        manifest = at_once(log).manifest
        assert dumped(index.messages()) == dumped(at_once.messages())
        assert dumped(index.turns()) == dumped(at_once.turns())
        assert index(log).manifest == manifest


def test_sessions_come_to_the_same_in_any_order(
    log: Path, index: Indexer, redactor: Redactor, tmp_path: Path, settings: Settings
) -> None:
    fork = log.with_name("2026-01-02T00-00-00-000Z_s2.jsonl")
    write(log, *FIRST, *SECOND)
    fork.write_bytes(encode(header(id="s2", timestamp="2026-01-02T00:00:00.000Z"), *FIRST, *SECOND))
    for path in (log, fork):
        index(path)
    apart = settings.model_copy(update={"data_dir": tmp_path / "other data"})
    with open_store(apart) as store:
        other = Indexer(apart, store, redactor)
        for path in (fork, log):
            other(path)
        assert dumped(index.messages()) == dumped(other.messages())
        assert dumped(index.turns()) == dumped(other.turns())


def record(file: SessionFile, index: Indexer) -> str | None:
    recorded = record_session(file, store=index.store, redactor=index.redactor, settings=index.settings)
    return recorded.manifest.quarantine


def test_a_file_that_can_t_be_read_is_quarantined_and_recovers(log: Path, index: Indexer) -> None:
    file = session_file(write(log, *FIRST), index.settings)
    log.rename(log.with_suffix(".away"))
    reason = record(file, index)
    assert reason is not None
    assert str(log) in reason
    ingested = ingest_messages(file, store=index.store, redactor=index.redactor, settings=index.settings)
    assert ingested.written == 0
    log.with_suffix(".away").rename(log)
    assert [f.session_id for f in plan_index(discover(index.settings).files, index.store).due] == [file.session_id]
    recovered = index(log)
    assert recovered.manifest.quarantine is None
    assert recovered.manifest.cwd == "/p"
    assert recovered.problems == []
    assert contents(index) == ["Which port?", "Port 4173."]


def test_a_file_that_is_no_longer_readable_costs_nothing_of_what_was_read(log: Path, index: Indexer) -> None:
    before = index(write(log, *FIRST)).manifest
    documents = index.messages(), index.turns()
    write(log, *FIRST, *SECOND)
    file = session_file(log, index.settings)
    log.rename(log.with_suffix(".away"))
    assert record(file, index)
    ingest_messages(file, store=index.store, redactor=index.redactor, settings=index.settings)
    assert (index.messages(), index.turns()) == documents
    log.with_suffix(".away").rename(log)
    recovered = index(log).manifest
    assert (recovered.quarantine, recovered.turns) == (None, before.turns + 1)
    assert contents(index)[2:] == ["Which host?", "Host zeta."]


def test_another_reader_reads_everything_again(
    log: Path, index: Indexer, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(write(log, *FIRST))
    question, answer = index.messages()
    store.upsert(RawMessage, [answer.model_copy(update={"content": "Port 4173, as an older reader would have it."})])
    assert index(log).raw.written == 0
    assert plan_index(discover(index.settings).files, store).unchanged == 1
    for module in ("ingestion.indexing", "ingestion.planning", "sessions.manifest"):
        monkeypatch.setattr(f"memory_pipeline.{module}.READER_VERSION", "newer")
    assert len(plan_index(discover(index.settings).files, store).changed) == 1
    again = index(log)
    assert again.manifest.reader_version == "newer"
    assert (again.raw.written, again.problems) == (1, [])
    assert index.messages() == [question, answer]
    assert plan_index(discover(index.settings).files, store).unchanged == 1


def test_a_crash_while_messages_are_stored_is_made_good_by_the_next_run(
    log: Path, index: Indexer, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(log, *FIRST, *SECOND)
    monkeypatch.setattr("memory_pipeline.ingestion.indexing.BATCH", 1)
    upsert, written = store.upsert, 0

    def dies(kind: type[Document], documents: Iterable[Document | Mapping[str, Any]]) -> BulkResult:
        nonlocal written
        if kind is RawMessage:
            written += 1
            if written > 2:
                raise KeyboardInterrupt
        return upsert(kind, documents)

    with monkeypatch.context() as crash:
        crash.setattr(store, "upsert", dies)
        with pytest.raises(KeyboardInterrupt):
            index(log)
    assert store.count(RawMessage) == 2
    assert len(plan_index(discover(index.settings).files, store).due) == 1
    made_good = index(log)
    assert (made_good.raw.written, made_good.raw.unchanged, made_good.turns.written) == (2, 2, 2)
    assert plan_index(discover(index.settings).files, store).due == ()
