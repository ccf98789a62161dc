"""A file that grew is read on from where it ended, where that comes to the same as reading it whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.documents import RawMessage
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import messages
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store
from memory_pipeline_tests.ingestion.indexer import Indexer
from memory_pipeline_tests.redaction.fakes import address, password
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, header, result, user

FIRST = [
    user("aaaaaaa1", None, "Which port?"),
    assistant("aaaaaaa2", "aaaaaaa1", "Port 4173."),
    user("aaaaaaa3", "aaaaaaa2", "Which host?"),
    assistant("aaaaaaa4", "aaaaaaa3", "Host zeta."),
]
ON = [user("aaaaaaa5", "aaaaaaa4", "And the user?"), assistant("aaaaaaa6", "aaaaaaa5", "User deploy.")]
BACK = [user("aaaaaaa7", "aaaaaaa2", "No, another way."), assistant("aaaaaaa8", "aaaaaaa7", "Then this way.")]


@pytest.fixture(autouse=True)
def save_every_outline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_pipeline.sessions.saved._WORTH_SAVING", 0)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The entries that reading messages began with."""
    begun: list[int] = []

    def spy(*args: Any, start: int = 0) -> Iterator[RawMessage]:
        begun.append(start)
        return messages(*args, start=start)

    monkeypatch.setattr("memory_pipeline.ingestion.indexing.messages", spy)
    return begun


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(header(), *FIRST))
    return path


def grow(path: Path, *rows: Row) -> Path:
    with path.open("ab") as file:
        file.write(encode(*rows))
    return path


def as_if_read_at_once(log: Path, redactor: Redactor, folder: Path) -> list[dict[str, Any]]:
    settings: Settings = load_settings(env_file=None, data_dir=folder / "whole", sessions_dir=log.parent)
    with open_store(settings) as store:
        index = Indexer(settings, store, redactor)
        manifest = index(log).manifest
        return [document.model_dump() for document in [*index.messages(), *index.turns(), manifest]]


def held(index: Indexer, log: Path) -> list[dict[str, Any]]:
    manifest = index(log).manifest
    return [document.model_dump() for document in [*index.messages(), *index.turns(), manifest]]


@pytest.mark.parametrize(
    ("more", "start"), [(ON, 4), (BACK, 2), (ON + BACK, 2)], ids=["goes on", "branches", "goes on and branches"]
)
def test_only_what_is_new_or_was_moved_is_read(
    log: Path, index: Indexer, redactor: Redactor, tmp_path: Path, starts: list[int], more: list[Row], start: int
) -> None:
    index(log)
    grown = index(grow(log, *more))
    assert starts == [0, start]
    assert grown.raw.written == len(more) + (4 - start)
    assert held(index, log) == as_if_read_at_once(log, redactor, tmp_path)


def test_a_file_whose_beginning_changed_is_read_whole(log: Path, index: Indexer, starts: list[int]) -> None:
    index(log)
    log.write_bytes(log.read_bytes().replace(b"Port 4173.", b"Port 4174."))
    index(grow(log, *ON))
    assert starts == [0, 0]
    assert [message.content for message in index.messages()][1] == "Port 4174."


def test_an_outline_of_what_another_store_holds_is_not_gone_on_from(
    log: Path, index: Indexer, settings: Settings, redactor: Redactor, starts: list[int]
) -> None:
    index(log)
    with open_store(settings.model_copy(update={"index_prefix": "other", "sqlite_path": None})) as _:
        pass
    index.store.delete(RawMessage, {"session_id": "s1"})
    manifest = index(log).manifest
    index.store.upsert(type(manifest), [manifest.model_copy(update={"indexed_sha256": None, "content_sha256": "x"})])
    index(grow(log, *ON))
    assert starts == [0, 0]
    assert len(index.messages()) == 6


def test_a_session_with_a_secret_is_read_whole_because_it_may_be_repeated(
    log: Path, index: Indexer, starts: list[int]
) -> None:
    index(grow(log, result("aaaaaaa9", "aaaaaaa4", f"DATABASE_URL={address()}")))
    index(grow(log, assistant("aaaaaab0", "aaaaaaa9", f"I used {password()} for it.")))
    assert starts == [0, 0]
    assert password() not in "".join(message.content for message in index.messages())


def test_a_secret_in_what_is_new_goes_from_what_was_read_before(log: Path, index: Indexer, starts: list[int]) -> None:
    index(grow(log, assistant("aaaaaaa9", "aaaaaaa4", f"I used {password()} for it.")))
    index(grow(log, result("aaaaaab0", "aaaaaaa9", f"DATABASE_URL={address()}")))
    assert starts == [0, 5]
    assert password() not in "".join(message.content for message in index.messages())
    assert password() not in "".join(turn.text for turn in index.turns())
