"""What the store holds and what waits, as plain numbers for ``memory-pipeline status`` and others."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from memory_pipeline.documents import RawMessage, SessionManifest, Summary, Turn
from memory_pipeline.ingestion.estimating import estimate
from memory_pipeline.ingestion.hiding import all_hidden
from memory_pipeline.ingestion.planning import waiting_sessions
from memory_pipeline.ingestion.redoing import extracted_turns
from memory_pipeline.stores.contract import MemoryStore


@dataclass(slots=True)
class StoreStatus:
    """Counts of documents; ``estimate_seconds`` is what distilling the waiting turns would take, None if unknown."""

    location: str
    sessions: int = 0
    quarantined: list[str] = field(default_factory=list)
    problems: int = 0
    sessions_of_older_rules: int = 0
    """Redacted by other rules than today's."""
    messages: int = 0
    turns: int = 0
    turns_copied: int = 0
    """Copies in forks: not distilled again."""
    turns_by_state: dict[str, int] = field(default_factory=dict)
    turns_waiting: int = 0
    memories: int = 0
    turns_extracted: int = 0
    """Extracted before there was a model, and to be done again by it."""
    memories_by_model: dict[str, int] = field(default_factory=dict)
    memories_hidden: int = 0
    vectors: int = 0
    vectors_missing: int = 0
    embedding_model: str | None = None
    embedding_dimensions: int | None = None
    estimate_seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def store_status(store: MemoryStore, engine: str, rules_version: str | None = None) -> StoreStatus:
    """Count what the store holds, and what waits for the engine (``llm`` or ``extractive``).

    ``rules_version``: that of the redactor as it is today; None: older rules are not looked for.
    """
    status = StoreStatus(location=store.location)
    for manifest in store.scan(SessionManifest):
        status.sessions += 1
        status.problems += manifest.problem_count
        if rules_version is not None and manifest.indexed_sha256 is not None:
            status.sessions_of_older_rules += manifest.rules_version != rules_version
        if manifest.quarantine:
            status.quarantined.append(f"{manifest.path}: {manifest.quarantine}")
    status.messages = store.count(RawMessage)
    status.turns_by_state = dict(sorted(store.group_count(Turn, "distillation.state", {"copy_of": None}).items()))
    status.turns = store.count(Turn)
    status.turns_copied = status.turns - sum(status.turns_by_state.values())
    status.turns_waiting = waiting_sessions(store).turns
    if engine == "llm":
        status.turns_extracted = len(extracted_turns(store, status.turns or 1))
    status.memories_by_model = dict(sorted(store.group_count(Summary, "model").items()))
    status.memories = sum(status.memories_by_model.values())
    status.memories_hidden = len(all_hidden(store))
    status.vectors_missing = store.count(Summary, {"embedding_model": None})
    status.vectors = status.memories - status.vectors_missing
    made_with = store.embedding_model(Summary)
    if made_with is not None:
        status.embedding_model, status.embedding_dimensions = made_with
    status.estimate_seconds = estimate(store, status.turns_waiting, engine).seconds
    return status
