"""The event log with open connections: what it stores is what Dagster's own finds, in fewer transactions."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy
from dagster._core.storage.event_log import SqliteEventLogStorage

from memory_pipeline.orchestration.event_log import BATCH_VARIABLE, EventLog
from memory_pipeline.orchestration.home import open_instance
from memory_pipeline.orchestration.partitions import SESSION_FILES, add_keys, range_tags
from memory_pipeline.settings import load_settings

KEYS = [f"key-{number}" for number in range(20)]


@dg.asset(partitions_def=SESSION_FILES, backfill_policy=dg.BackfillPolicy.single_run())
def counted(context: dg.AssetExecutionContext) -> None:
    for key in context.partition_keys:
        context.add_asset_metadata({"letters": len(key)}, partition_key=key)


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    for name in ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", BATCH_VARIABLE):
        monkeypatch.setenv(name, "")  # undone at the end, with what is set meanwhile
    monkeypatch.delenv(BATCH_VARIABLE)
    with open_instance(load_settings(data_dir=tmp_path / "wörk 'place'")) as instance:
        yield instance


def _run(instance: dg.DagsterInstance) -> str:
    add_keys(instance, KEYS)
    result = dg.materialize([counted], instance=instance, tags=range_tags(KEYS))
    assert result.success
    return result.run_id


def test_the_home_s_instance_has_it(instance: dg.DagsterInstance) -> None:
    assert isinstance(instance.event_log_storage, EventLog)


def test_dagsters_own_class_reads_all_that_it_stored_from_both_databases(instance: dg.DagsterInstance) -> None:
    run_id = _run(instance)
    log = instance.event_log_storage
    assert isinstance(log, EventLog)
    plain = SqliteEventLogStorage(str(Path(log.path_for_shard(run_id)).parent))
    plain.register_instance(instance)
    kinds = [dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED, dg.DagsterEventType.ASSET_MATERIALIZATION]
    of_run = [entry.dagster_event for entry in plain.get_logs_for_run(run_id) if entry.dagster_event]
    for kind in kinds:
        assert sorted(event.partition or "" for event in of_run if event.event_type == kind) == sorted(KEYS)
        by_partition = plain.get_latest_storage_id_by_partition(counted.key, kind)
        assert sorted(by_partition) == sorted(KEYS)
        assert len(set(by_partition.values())) == len(KEYS)
    (record,) = plain.get_asset_records([counted.key])
    assert record.asset_entry.last_materialization is not None
    assert record.asset_entry.last_materialization.asset_materialization is not None
    assert record.asset_entry.last_materialization.asset_materialization.partition in KEYS


def test_a_run_opens_few_connections(instance: dg.DagsterInstance) -> None:
    """Dagster's own opens two for each event. Fails where Dagster renamed what is replaced."""
    opened: list[str] = []

    def note(connection: object, record: object) -> None:
        opened.append("")

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", note)
    try:
        _run(instance)
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "connect", note)
    assert len(opened) < 60


def test_keys_that_another_process_adds_or_deletes_are_seen_at_once(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "session_files"
    log = instance.event_log_storage
    assert isinstance(log, EventLog)
    other = SqliteEventLogStorage(str(Path(log.path_for_shard("index")).parent))
    other.register_instance(instance)
    assert log.get_dynamic_partitions(name) == []
    other.add_dynamic_partitions(name, ["b", "a"])
    assert log.get_dynamic_partitions(name) == ["b", "a"]
    log.add_dynamic_partitions(name, ["c"])
    assert log.get_dynamic_partitions(name) == ["b", "a", "c"]
    other.delete_dynamic_partition(name, "a")
    assert not log.has_dynamic_partition(name, "a")
    log.delete_dynamic_partition(name, "b")
    assert log.get_dynamic_partitions(name) == ["c"]
    assert log.get_dynamic_partitions("others") == []
    monkeypatch.setattr(SqliteEventLogStorage, "get_dynamic_partitions", None)
    assert log.get_dynamic_partitions(name) == ["c"]  # nothing has changed, so nothing is read


def test_a_batch_that_fails_leaves_nothing_of_it(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = _run(instance)
    log = instance.event_log_storage
    events = list(log.get_logs_for_run(run_id))
    stored: list[dg.EventLogEntry] = []
    store = EventLog.store_event

    def fail_at_last(self: EventLog, event: dg.EventLogEntry) -> None:
        stored.append(event)
        if len(stored) == 5:
            raise OSError("full")
        store(self, event)

    monkeypatch.setattr(EventLog, "store_event", fail_at_last)
    with pytest.raises(OSError, match="full"):
        log.store_event_batch(events[:8])
    assert len(log.get_logs_for_run(run_id)) == len(events)
    monkeypatch.undo()
    log.store_event(events[0])
    assert len(log.get_logs_for_run(run_id)) == len(events) + 1


def test_threads_share_it(instance: dg.DagsterInstance) -> None:
    run_id = _run(instance)
    log = instance.event_log_storage
    events = list(log.get_logs_for_run(run_id))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(log.store_event_batch, [events[:5]] * 8))
        counts = list(pool.map(lambda _: len(log.get_logs_for_run(run_id)), range(8)))
    assert counts == [len(events) + 40] * 8
