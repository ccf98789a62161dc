"""A secret that a fork tells goes from the session it was forked from too, and the other way round."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from memory_pipeline.documents import RawMessage, SessionManifest, Summary
from memory_pipeline.ingestion.families import families, relatives
from memory_pipeline.ingestion.indexing import record_session, require_manifest
from memory_pipeline.ingestion.repairing import repair_store
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import session_file
from memory_pipeline.settings import Settings
from memory_pipeline.stores import open_store
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller, Spoken
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.ingestion.stored import everything
from memory_pipeline_tests.redaction.fakes import password
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, header, result, user

PASSWORD = password("fork")
TELLING = f"DATABASE_URL=postgres://app:{PASSWORD}@db.corp.net:5432/prod"
SHARED = [
    user("u1", None, "Which value does the staging database want?"),
    assistant("a1", "u1", f"We decided that `staging-db` takes {PASSWORD} since May, as the old one was rotated."),
]
BARE = [user("u2", "a1", f"So {PASSWORD} it is?"), assistant("a2", "u2", "Yes.")]


def name(number: int) -> str:
    return f"2026-01-0{number}T00-00-00-000Z_019e1111-2222-7333-8444-00000000000{number}"


def head(number: int, parent: int | None = None) -> Row:
    fields = {} if parent is None else {"parentSession": f"/home/ann/.pi/agent/sessions/--p--/{name(parent)}.jsonl"}
    return header(id=name(number)[-36:], timestamp=f"2026-01-0{number}T00:00:00.000Z", **fields)


FILES: dict[int, list[Row]] = {
    1: [head(1), *SHARED, *BARE],
    2: [head(2, 1), *SHARED, user("u3", "a1", "And the address?"), result("r3", "u3", TELLING)],
    3: [head(3, 2), *SHARED, user("u4", "a1", f"Try {PASSWORD} again"), assistant("a4", "u4", "It works.")],
}


def put(settings: Settings, number: int, rows: list[Row] | None = None) -> Path:
    folder = settings.sessions_dir
    assert folder is not None
    folder.mkdir(exist_ok=True)
    path = folder / f"{name(number)}.jsonl"
    path.write_bytes(encode(*(rows or FILES[number])))
    return path


@pytest.mark.parametrize("order", list(permutations(FILES)))
def test_what_a_fork_tells_goes_from_all_its_family_in_any_order(order: tuple[int, ...], index: Indexer) -> None:
    for number in order:
        index(put(index.settings, number))
    assert PASSWORD not in everything(index.store)
    turns = {turn.turn_id: turn for turn in index.turns()}
    shared = [turns[f"{name(number)}_0"] for number in FILES]
    assert len({turn.copy_key for turn in shared}) == 1
    assert [turn.copy_of for turn in shared] == [None, shared[0].turn_id, shared[0].turn_id]


def test_a_family_comes_to_the_same_in_any_order(settings: Settings, redactor: Redactor, tmp_path: Path) -> None:
    ends: set[str] = set()
    paths = {number: put(settings, number) for number in FILES}
    for order in permutations(FILES):
        own = settings.model_copy(update={"data_dir": tmp_path / f"data-{order}"})
        with open_store(own) as store:
            for number in order:
                Indexer(own, store, redactor)(paths[number])
            ends.add("\n".join(sorted(everything(store).splitlines())))
    assert len(ends) == 1


@pytest.mark.parametrize("order", list(permutations(FILES)))
@pytest.mark.parametrize("called", ["id", "file"])
def test_a_parent_may_be_called_by_its_id_or_by_a_name_of_its_own(
    called: str, order: tuple[int, ...], index: Indexer
) -> None:
    folder = index.settings.sessions_dir
    assert folder is not None
    folder.mkdir(exist_ok=True)
    for number in order:
        parent = {2: 1, 3: 2}.get(number)
        head_row = dict(FILES[number][0])
        if parent is not None:
            head_row["parentSession"] = name(parent)[-36:] if called == "id" else f"/home/ann/work{parent}.jsonl"
        path = folder / f"work{number}.jsonl"
        path.write_bytes(encode(head_row, *FILES[number][1:]))
        index(path)
    assert PASSWORD not in everything(index.store)
    assert sum(turn.copy_of is not None for turn in index.turns()) == 2
    assert len(families(index.store)) == 1


def test_a_store_from_before_secrets_were_marked_is_read_again_once(index: Indexer) -> None:
    paths = {number: put(index.settings, number) for number in FILES}
    index(paths[1])
    fork = index(paths[2]).manifest
    store = index.store
    for number in (1, 2):  # as they were stored then: the parent with the bare value, no marks
        manifest = require_manifest(store, name(number))
        store.upsert(SessionManifest, [manifest.model_copy(update={"secrets": [], "rules_version": None})])
    bare = [m for m in store.scan(RawMessage, {"session_id": name(1)}) if "[redacted:" in m.content]
    store.upsert(RawMessage, [m.model_copy(update={"content": f"it is {PASSWORD}"}) for m in bare[:1]])
    for number in (1, 2):
        index(paths[number])
    assert PASSWORD not in everything(store)
    assert require_manifest(store, name(2)).secrets == fork.secrets


def test_sessions_of_no_common_descent_are_no_family(index: Indexer) -> None:
    for number, rows in {1: FILES[1], 2: FILES[2], 4: [head(4), *SHARED]}.items():
        index(put(index.settings, number, rows))
    store = index.store
    assert families(store) == [[name(1), name(2)], [name(4)]]
    assert [m.doc_id for m in relatives(require_manifest(store, name(1)), store)] == [name(2)]
    assert relatives(require_manifest(store, name(4)), store) == []
    assert PASSWORD in everything(store), "the fourth tells nothing of its own"


def test_siblings_whose_parent_is_gone_are_a_family(index: Indexer) -> None:
    for number in (2, 5):
        index(put(index.settings, number, [head(number, 1), *FILES[2][1:]]))
    assert families(index.store) == [[name(2), name(5)]]
    assert [m.doc_id for m in relatives(require_manifest(index.store, name(5)), index.store)] == [name(2)]


def test_a_store_of_older_rules_is_repaired_family_by_family(
    store: MemoryStore, settings: Settings, redactor: Redactor
) -> None:
    blind = Indexer(settings, store, redactor)
    for number, rows in FILES.items():  # the telling line is not there yet, so nobody knows of the secret
        blind(put(settings, number, [row for row in rows if TELLING not in str(row)]))
    assert PASSWORD in everything(store)
    fork = require_manifest(store, name(2))
    store.upsert(SessionManifest, [fork.model_copy(update={"name": TELLING})])
    watched: list[int] = []
    changed = repair_store(redactor, store=store, watch=lambda: watched.append(1))
    assert changed.keys() == {name(number) for number in FILES}
    assert len(watched) == len(FILES)
    assert PASSWORD not in everything(store)
    assert repair_store(redactor, store=store, watch=lambda: None) == {}


def test_a_line_that_told_a_secret_is_remembered_when_the_file_has_lost_it(index: Indexer) -> None:
    told = [head(1), *SHARED, user("u3", "a1", "And the address?"), result("r3", "u3", TELLING)]
    index(put(index.settings, 1, told))
    index(put(index.settings, 1, [head(1), *SHARED, *BARE, user("u9", "a2", f"again: {PASSWORD}")]))
    assert PASSWORD not in everything(index.store)
    assert any("again: [redacted:" in message.content for message in index.messages())


def test_a_name_given_later_does_not_bring_a_known_secret_back(index: Indexer) -> None:
    told = [head(1), *SHARED, user("u3", "a1", "And the address?"), result("r3", "u3", TELLING)]
    index(put(index.settings, 1, told))
    named: Row = {"type": "session_info", "id": "i1", "parentId": "r3", "timestamp": "2026-01-01T00:09:00.000Z"}
    path = put(index.settings, 1, [*told, {**named, "name": f"rotate {PASSWORD}"}])
    file = session_file(path, index.settings)
    record_session(file, store=index.store, redactor=index.redactor, settings=index.settings)
    assert PASSWORD not in everything(index.store), "before its messages are read again"


def test_memories_stay_when_a_relative_tells_their_secret(index: Indexer, distil: Distiller) -> None:
    memory = f"`staging-db` takes {PASSWORD} since May."
    distil(put(index.settings, 1), Spoken({0: [memory]}))
    assert PASSWORD in everything(index.store)
    index(put(index.settings, 2))
    assert PASSWORD not in everything(index.store)
    assert ["[redacted:" in m.summary for m in index.store.scan(Summary)] == [True]
    engine = Spoken({0: [memory]})
    distil(put(index.settings, 1), engine)
    assert engine.asked == []
