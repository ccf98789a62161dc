"""Secrets that are recognised late go from everything that was stored before, and memories stay memories."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from memory_pipeline.distillation import ExtractiveEngine
from memory_pipeline.documents import Document, Meta, RawMessage, Summary
from memory_pipeline.ingestion import repairing
from memory_pipeline.ingestion.distilling import distil_session
from memory_pipeline.ingestion.grouping import group_session
from memory_pipeline.ingestion.progress import Budget, Silent
from memory_pipeline.ingestion.repairing import repair_store
from memory_pipeline.ingestion.status import store_status
from memory_pipeline.redaction import Redacted, Redactor
from memory_pipeline.sessions import group_turns
from memory_pipeline.settings import Settings
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.ingestion.stored import everything
from memory_pipeline_tests.redaction.fakes import password, token
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, entry, header, result, user

PASSWORD = password("late")
HINT = f"postgres://app:{PASSWORD}@db.corp.net:5432/prod"

QUESTION = user("u1", None, "Which value does the staging database want?")
DECISION = assistant(
    "a1", "u1", f"We decided that `staging-db` takes {PASSWORD} since May, because the old one was rotated."
)
TELLTALE = [user("u2", "a1", "And the address?"), result("r1", "u2", f"DATABASE_URL={HINT}")]


class Blind:
    """The rules of a time when nothing was known of any secret."""

    known = 0
    rules_version = "blind"

    marks: list[str] = []  # noqa: RUF012

    def session(self, earlier: Sequence[str] = ()) -> Blind:
        return self

    def learn(self, texts: Sequence[str]) -> None: ...

    def redact(self, text: str | Sequence[str]) -> Redacted | list[Redacted]:
        return Redacted(text, 0) if isinstance(text, str) else [Redacted(t, 0) for t in text]

    def redact_one(self, text: str) -> Redacted:
        return Redacted(text, 0)

    redact_literals = redact_one


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def blind(settings: Settings, store: MemoryStore) -> Indexer:
    return Indexer(settings, store, cast(Redactor, Blind()))


def write(path: Path, *rows: Row) -> Path:
    path.write_bytes(encode(header(), *rows))
    return path


def distil(index: Indexer) -> int:
    done = distil_session(
        "s1",
        store=index.store,
        engine=ExtractiveEngine(),
        budget=Budget(),
        progress=Silent(),
        now=lambda: "2026-06-01T00:00:00.000Z",
    )
    return done.turns


def test_a_secret_goes_also_where_it_stands_before_the_place_it_is_recognised_by(log: Path, index: Indexer) -> None:
    index(write(log, QUESTION, DECISION, *TELLTALE))
    assert PASSWORD not in everything(index.store)
    name = [part for part in index.messages()[1].content.split() if part.startswith("[redacted:")]
    assert name
    assert name[0].removesuffix("]").split(":")[2] in index.messages()[-1].content


def test_what_a_grown_session_tells_goes_from_what_was_stored_before(log: Path, index: Indexer) -> None:
    index(write(log, QUESTION, DECISION))
    assert distil(index) == 1
    assert PASSWORD in everything(index.store)
    index(write(log, QUESTION, DECISION, *TELLTALE))
    assert PASSWORD not in everything(index.store)
    distil(index)
    assert PASSWORD not in everything(index.store)
    assert any("staging-db" in memory.summary for memory in index.store.scan(Summary))


def test_a_store_of_older_rules_is_repaired_in_every_tier(
    log: Path, blind: Indexer, redactor: Redactor, settings: Settings
) -> None:
    spoken = user("u1", None, f"Use {token()} for the registry, decided today.")
    blind(write(log, spoken, DECISION, *TELLTALE))
    assert distil(blind) == 2
    store = blind.store
    assert PASSWORD in everything(store)
    assert token() in everything(store)
    before = [turn.distillation for turn in blind.turns()]
    memories = store.count(Summary)
    assert store_status(store, "extractive", redactor.rules_version).sessions_of_older_rules == 1
    store.upsert(Meta, [Meta(doc_id="hidden:x", value={"summary": f"The registry takes {token()}."})])
    watched: list[int] = []
    changed = repair_store(redactor, store=store, watch=lambda: watched.append(1))
    assert changed.keys() == {"s1"}
    assert watched == [1]
    found = everything(store)
    assert PASSWORD not in found
    assert token() not in found
    assert "[redacted:" in found
    assert store.count(Summary) == memories
    after = [turn.distillation for turn in blind.turns()]
    hidden = {"fingerprint"}
    assert [state.model_dump(exclude=hidden) for state in after] == [s.model_dump(exclude=hidden) for s in before]
    assert distil(blind) == 0
    assert sum(message.redactions for message in store.scan(RawMessage)) >= 3
    assert repair_store(redactor, store=store, watch=lambda: None) == {}
    store.delete(Meta, {"doc_id": "hidden:x"})
    assert store_status(store, "extractive", redactor.rules_version).sessions_of_older_rules == 0
    store.close()
    for path in settings.data_dir.rglob("memory.db*"):
        assert PASSWORD.encode() not in path.read_bytes(), path


def test_a_repaired_store_is_what_today_s_rules_would_have_made(
    log: Path, blind: Indexer, index: Indexer, redactor: Redactor
) -> None:
    blind(write(log, QUESTION, DECISION, *TELLTALE))
    repair_store(redactor, store=blind.store, watch=lambda: None)
    repaired = [document.model_dump() for document in [*blind.messages(), *blind.turns()]]
    log.touch()
    index(log)
    assert [document.model_dump() for document in [*index.messages(), *index.turns()]] == repaired


@pytest.mark.parametrize("survives", range(8))
def test_a_repair_that_was_killed_is_gone_on_with(
    log: Path, blind: Indexer, redactor: Redactor, monkeypatch: pytest.MonkeyPatch, survives: int
) -> None:
    blind(write(log, *TELLTALE, {**QUESTION, "parentId": "r1"}, DECISION))
    distil(blind)
    replace, replaced = repairing._replace, 0

    def dies(old: Document, new: Document, store: MemoryStore) -> None:
        nonlocal replaced
        replaced += 1
        if replaced > survives:
            raise KeyboardInterrupt
        replace(old, new, store)

    with monkeypatch.context() as crash, suppress(KeyboardInterrupt):
        crash.setattr(repairing, "_replace", dies)
        repair_store(redactor, store=blind.store, watch=lambda: None)
    assert replaced > min(survives, 4)
    repair_store(redactor, store=blind.store, watch=lambda: None)
    assert PASSWORD not in everything(blind.store)
    assert blind.store.count(Summary) > 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_repair_that_was_killed_while_it_grouped_is_ended_by_the_next_run(
    log: Path, blind: Indexer, index: Indexer, redactor: Redactor, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    blind(write(log, QUESTION, DECISION, *TELLTALE))
    assert distil(blind) == 2
    group = group_session

    def dies(session_id: str, *, store: MemoryStore, repaired: Collection[str]) -> None:
        if when == "after":
            group(session_id, store=store, repaired=repaired)
        raise KeyboardInterrupt

    with monkeypatch.context() as crash, pytest.raises(KeyboardInterrupt):
        crash.setattr(repairing, "group_session", dies)
        repair_store(redactor, store=blind.store, watch=lambda: None)
    index(log)
    assert PASSWORD not in everything(index.store)
    assert distil(index) == 0
    stored = [turn.model_dump() for turn in index.turns()]
    fresh = group_turns(index.messages())
    assert [(t["fingerprint"], t["copy_key"]) for t in stored] == [(t.fingerprint, t.copy_key) for t in fresh]


def test_a_secret_that_only_the_session_s_name_tells_goes_from_its_messages(log: Path, index: Indexer) -> None:
    named = entry("session_info", "i1", "a1", name=HINT)
    index(write(log, QUESTION, DECISION, named))
    assert PASSWORD not in everything(index.store)


def test_a_file_that_is_only_touched_does_not_bring_a_secret_back(log: Path, index: Indexer) -> None:
    index(write(log, QUESTION, DECISION, entry("session_info", "i1", "a1", name=f"rotate {PASSWORD}"), *TELLTALE))
    assert PASSWORD not in everything(index.store)
    os.utime(log, ns=(1, 1))
    index(log)
    assert PASSWORD not in everything(index.store)
