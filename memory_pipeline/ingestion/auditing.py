"""The health of a store, counted: what is in it that should not be, and what is missing. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from memory_pipeline.batches import batched
from memory_pipeline.distillation import known_fingerprint
from memory_pipeline.documents import FINISHED, RawMessage, Summary, Turn
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.citations import home
from memory_pipeline.ingestion.suspicions import junk_shape, repeats, ungrounded
from memory_pipeline.stores.contract import Exclude, MemoryStore, Where

BATCH = 200  # memories looked at together with the messages that they cite
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that is sound: so many, or such a share. Above it a check fails."""

    most: float
    is_share: bool = False

    def __str__(self) -> str:
        return f"{100 * self.most:g} %" if self.is_share else f"{self.most:g}"


CHECKS: Mapping[str, tuple[str, Limit | None]] = {
    "ungrounded": ("say or quote what their turn does not hold", Limit(0)),
    "junk": ("are refusals, scraps, greetings", Limit(0.01, is_share=True)),
    "duplicates": ("say what another one of their session says", Limit(0.01, is_share=True)),
    "orphans": ("cite messages that are not in memory-raw", Limit(0)),
    "off_path": ("come from a branch that was given up", Limit(0)),
    "stale": ("are of a turn that has changed, or that was done again since", None),
    "missing_vectors": ("have no vector", Limit(0)),
    "failures": ("turns that were tried and came to no outcome", Limit(0.05, is_share=True)),
}
"""Name → what its memories (of ``failures``: turns) are, and the limit; None: counted only."""


@dataclass(slots=True)
class Finding:
    """What one check found: ``count`` of ``of``; ``examples`` are the first ids, each with what is wrong."""

    name: str
    meaning: str
    limit: Limit | None
    count: int = 0
    of: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0

    @property
    def passed(self) -> bool:
        if self.limit is None:
            return True
        return (self.share if self.limit.is_share else self.count) <= self.limit.most

    def add(self, doc_id: str, what: str = "") -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((doc_id, what))


def audit(
    store: MemoryStore,
    *,
    limits: Mapping[str, Limit] | None = None,
    sessions: Collection[str] | None = None,
    only: Collection[str] = tuple(CHECKS),
) -> dict[str, Finding]:
    """What each check found, by name. ``limits`` replace those of CHECKS; ``sessions``: look only at what these hold;
    ``only``: leave the other checks out.
    """
    found = {name: Finding(name, CHECKS[name][0], (limits or {}).get(name, CHECKS[name][1])) for name in only}
    where: Where = {} if sessions is None else {"source_refs.session_id": list(sessions)}
    total = store.count(Summary, where)
    for finding in found.values():
        finding.of = total
    by_session: dict[str, list[Summary]] = {}
    if found.keys() - {"missing_vectors", "failures"}:
        for batch in batched(store.scan(Summary, where), BATCH):
            _look_at(batch, found, store)
            for memory in batch:
                by_session.setdefault(memory.source_refs[0].session_id, []).append(memory)
    if (repeated := found.get("duplicates")) is not None:
        for memories in by_session.values():
            for doc_id, other in repeats(memories):
                repeated.add(doc_id, f"as {other}")
    if (bare := found.get("missing_vectors")) is not None:
        for memory in store.scan(Summary, {**where, "embedding_model": None}):
            bare.add(memory.doc_id)
    if (failures := found.get("failures")) is not None:
        _count_failures(failures, store, sessions)
    return found


def limits_of(texts: Iterable[str]) -> dict[str, Limit]:
    """Limits as people write them: ``ungrounded=2``, ``duplicates=5%``. InputError for anything else."""
    limits: dict[str, Limit] = {}
    for text in texts:
        name, _, value = text.partition("=")
        name = name.strip().replace("-", "_")
        try:
            number = float(value.strip().removesuffix("%"))
        except ValueError:
            number = -1.0
        if name not in CHECKS or number < 0:
            raise InputError(
                f"{text!r} is no limit; write CHECK=NUMBER or CHECK=NUMBER%, CHECK one of {', '.join(CHECKS)}."
            )
        limits[name] = Limit(number / 100, is_share=True) if value.strip().endswith("%") else Limit(number)
    return limits


def _look_at(memories: Sequence[Summary], found: Mapping[str, Finding], store: MemoryStore) -> None:
    cited = sorted({ref.doc_id for memory in memories for ref in memory.source_refs if ref.doc_id})
    messages = {message.doc_id: message.content for message in store.get(RawMessage, cited)}
    turns = {turn.turn_id: turn for turn in store.get(Turn, sorted({home(memory) for memory in memories}))}
    for memory in memories:
        for name, what in _faults(memory, messages, turns.get(home(memory)), found.keys(), store):
            found[name].add(memory.doc_id, what)


def _faults(
    memory: Summary, messages: Mapping[str, str], turn: Turn | None, wanted: Collection[str], store: MemoryStore
) -> Iterator[tuple[str, str]]:
    """Checks among the wanted ones that the memory does not pass, each with what is wrong."""
    if "ungrounded" in wanted:
        here = [messages[ref.doc_id] for ref in memory.source_refs if ref.doc_id and ref.doc_id in messages]
        what = ungrounded(memory, here, partial(_whole_turn, memory, store))
        yield from [("ungrounded", what)] if what else []
    if "junk" in wanted and (what := junk_shape(memory.summary)):
        yield "junk", what
    if "orphans" in wanted:
        missing = [ref.doc_id for ref in memory.source_refs if ref.doc_id and ref.doc_id not in messages]
        missing += [] if turn is not None else [home(memory)]
        yield from [("orphans", f"cites {missing[0]}")] if missing else []
    if "off_path" in wanted and turn is not None and not turn.on_active_path:
        yield "off_path", ""
    if "stale" in wanted and turn is not None and (what := _stale(memory, turn)):
        yield "stale", what


def _whole_turn(memory: Summary, store: MemoryStore) -> list[str]:
    """The texts of all messages of the turns that it cites."""
    turns = sorted({ref.turn_id for ref in memory.source_refs})
    return [message.content for message in store.scan(RawMessage, {"turn_id": turns})]


def _stale(memory: Summary, turn: Turn) -> str | None:
    state = turn.distillation
    if state.state not in FINISHED:
        return f"its turn is {state.state}"
    if known_fingerprint(turn, state) != state.fingerprint:
        return "its turn has changed"
    if (memory.model, memory.prompt_version) != (state.model, state.prompt_version):
        return f"made by {memory.model}, its turn by {state.model}"
    return None


def _count_failures(finding: Finding, store: MemoryStore, sessions: Collection[str] | None) -> None:
    where: Where = {"copy_of": None} if sessions is None else {"copy_of": None, "session_id": list(sessions)}
    states = store.group_count(Turn, "distillation.state", where)
    finding.of = sum(states.values()) - states.get("pending", 0)
    finding.count = sum(count for state, count in states.items() if state not in (*FINISHED, "pending"))
    if finding.count:
        failed = {**where, "distillation.state": Exclude((*FINISHED, "pending"))}
        finding.examples = [
            (turn.turn_id, f"{turn.distillation.state}: {turn.distillation.error or ''}".rstrip(": "))
            for turn in store.scan(Turn, failed, limit=EXAMPLES)
        ]
