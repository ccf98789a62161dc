"""Several processes and threads at one store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory_pipeline.documents import DOCUMENTS, Fact, RawMessage
from memory_pipeline.stores.sqlite import SqliteStore
from memory_pipeline_tests.conformance.samples import MODEL, at_angle, fact, raw
from memory_pipeline_tests.stores.processes import finish, go, start

WRITER = """
store = SqliteStore(path)
store.ensure_indices()
name = wait_for_go()
for first in range(0, 1000, 20):
    messages = [raw(n, session_id=name, content=f"watering {name} {n}") for n in range(first, first + 20)]
    assert store.upsert(RawMessage, messages).written == 20
store.close()
print("done")
"""
READER = """
store = SqliteStore(path)
store.ensure_indices()
counts = []
while not counts or counts[-1] < 2000:
    hits = store.keyword_search(RawMessage, ["watered"], k=2000)
    counts.append(len(hits))
    assert all(hit.score > 0 for hit in hits)
    assert len(list(store.scan(RawMessage, {"session_id": "first"}))) <= 1000
print(sorted(counts) == counts, len(counts) > 2)
"""


def test_two_processes_write_a_thousand_each_while_a_third_searches(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers, reader = [start(WRITER, path) for _ in range(2)], start(READER, path)
    go(writers, "first", "second")
    assert [finish(writer) for writer in writers] == ["done", "done"]
    assert finish(reader) == "True True"
    with SqliteStore(path) as store:
        assert store.group_count(RawMessage, "session_id") == {"first": 1000, "second": 1000}
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


def test_many_processes_may_make_the_same_store_at_once(tmp_path: Path) -> None:
    script = """
    wait_for_go()
    store = SqliteStore(path)
    store.ensure_indices()
    store.upsert(RawMessage, [raw(0, session_id=str(os.getpid()))])
    store.close()
    """
    processes = [start(script, tmp_path / "new" / "memory.db") for _ in range(4)]
    go(processes)
    for process in processes:
        finish(process)
    with SqliteStore(tmp_path / "new" / "memory.db") as store:
        assert store.count(RawMessage) == 4
        assert [store.count(kind) for kind in DOCUMENTS[1:]] == [0] * (len(DOCUMENTS) - 1)


def test_threads_share_one_store(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "memory.db") as store, ThreadPoolExecutor(8) as pool:
        store.ensure_indices()

        def work(number: int) -> int:
            session_id = f"s-{number}"
            store.upsert(RawMessage, [raw(n, session_id=session_id) for n in range(50)])
            found = list(store.scan(RawMessage, {"session_id": session_id}, order=("message_index",)))
            hits = store.keyword_search(RawMessage, ["message"], k=100, where={"session_id": session_id})
            return len(found) + len(hits)

        assert list(pool.map(work, range(24))) == [100] * 24
        assert store.count(RawMessage) == 24 * 50


def test_a_store_that_is_open_sees_that_another_made_all_vectors_anew(tmp_path: Path) -> None:
    facts = [fact(f"fact {n}") for n in range(30)]
    with SqliteStore(tmp_path / "memory.db") as store, SqliteStore(tmp_path / "memory.db") as other:
        store.ensure_indices()
        store.upsert(Fact, facts)
        store.put_vectors(Fact, {f.doc_id: at_angle(n) for n, f in enumerate(facts)}, model=MODEL)
        assert len(other.vector_search(Fact, at_angle(0), k=5)) == 5
        store.drop_vectors(Fact)
        store.put_vectors(Fact, {f.doc_id: at_angle(n, 8) for n, f in enumerate(facts)}, model="new-model")
        assert other.embedding_model(Fact) == ("new-model", 8)
        assert other.vector_search(Fact, at_angle(0, 8), k=1)[0].document.doc_id == facts[0].doc_id
        assert other.count(Fact, {"embedding_model": "new-model"}) == 30
