"""Messages indexed by the store, against a bare ``streaming_bulk`` of the same documents into the same mapping."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from elasticsearch import Elasticsearch
from elasticsearch.helpers import streaming_bulk
from rich.table import Table

from benchmarks.corpus_text import Project, Wording
from memory_pipeline.documents import RawMessage, digest
from memory_pipeline.stores.elasticsearch import open_elasticsearch
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices

ROUNDS = 3
GOAL = 1.5
_START = datetime(2026, 1, 1, tzinfo=UTC)
_A_TURN = 8  # messages


def table(url: str, client: Elasticsearch, prefix: str, count: int) -> Table:
    """Both ways take turns; the median of each counts."""
    documents = _messages(count)
    bare, ours = [], []
    for number in range(ROUNDS):
        bare.append(_timed(lambda: _bare(url, client, f"{prefix}-bare{number}", documents)))  # noqa: B023  # run at once
        ours.append(_timed(lambda: _ours(url, f"{prefix}-ours{number}", documents)))  # noqa: B023
        drop_indices(client, prefix)
    found = Table(title=f"{count:,} messages, the median of {ROUNDS}", title_justify="left")
    for column in ("indexed by", "s", "messages/s", f"ratio (goal {GOAL})"):
        found.add_column(column, justify="left" if column == "indexed by" else "right")
    base = statistics.median(bare)
    for name, seconds in (("a bare streaming_bulk", base), ("the store", statistics.median(ours))):
        found.add_row(name, f"{seconds:.1f}", f"{count / seconds:,.0f}", f"{seconds / base:.2f}")
    return found


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _bare(url: str, client: Elasticsearch, prefix: str, documents: list[RawMessage]) -> None:
    with open_elasticsearch(url, None, prefix=prefix) as store:
        store.ensure_indices()  # both pay for the indices
    index = f"{prefix}-{RawMessage.index}"
    actions = ({"_index": index, "_id": d.doc_id, "_source": d.model_dump()} for d in documents)
    for _ in streaming_bulk(client, actions):
        pass
    client.indices.refresh(index=index)


def _ours(url: str, prefix: str, documents: list[RawMessage]) -> None:
    with open_elasticsearch(url, None, prefix=prefix) as store:
        store.ensure_indices()
        result = store.upsert(RawMessage, documents)
    assert result.written == len(documents), result


def _messages(count: int) -> list[RawMessage]:
    """Of sessions of 100 turns: what people say, answers, commands and their output."""
    rng = random.Random(0)
    wording = Wording(Project(0, 0), rng)
    found = []
    for number in range(count):
        turn, place = divmod(number, _A_TURN)
        session = f"2026-01-01T00-00-00-000Z_session-{turn // 100}"
        at = (_START + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = wording.talk(wording.turn()) if place % 2 == 0 else wording.output("bash", rng.randint(100, 2_000))
        found.append(
            RawMessage(
                doc_id=RawMessage.make_id(session, f"{session}_{turn}", place),
                session_id=session,
                turn_id=f"{session}_{turn}",
                turn_index=turn % 100,
                message_index=place,
                role="user" if place == 0 else "assistant",
                content=text,
                session_started_at=at,
                message_timestamp=at,
                model="a-model",
                provider="a-provider",
                entry_id=f"{number:08x}",
                on_active_path=True,
                kind="message",
                cwd="/home/ann/src/app",
                project="/home/ann/src/app",
                origin="laptop",
                content_sha256=digest(text),
            )
        )
    return found
