"""Scores what a store holds against labels.

A fact is kept if one memory that cites its turn holds at least half of its key terms. Turns off the active path count
for nothing: nothing is to be kept of them, whatever their labels say; copies in forks are counted with their original.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from benchmarks.quality.labels import Fact, Labels, Place
from memory_pipeline.documents import DOCUMENTS, FINISHED, Summary, Turn
from memory_pipeline.ingestion.auditing import audit
from memory_pipeline.stores.contract import MemoryStore

LONGEST = 400
"""Characters that a memory may have."""


@dataclass(slots=True)
class Score:
    """Counts; ``missed`` names the facts that no memory holds, ``noisy`` the junk turns with one, ``unmatched`` is of
    memories that hold no labelled fact of the turns they cite. ``dropped``: why what was proposed was not kept.
    ``failed``: turns without an outcome.
    """

    turns: int = 0
    core: int = 0
    core_kept: int = 0
    minor: int = 0
    minor_kept: int = 0
    junk: int = 0
    junk_noisy: int = 0
    memories: int = 0
    unmatched: int = 0
    too_long: int = 0
    ungrounded: int = 0
    injected: int = 0
    secrets: int = 0
    recalled: int = 0
    duplicates: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    tokens: int = 0
    seconds: float = 0.0
    missed: list[Fact] = field(default_factory=list)
    noisy: list[Place] = field(default_factory=list)


def score(store: MemoryStore, labels: Labels, *, asked: Collection[str] | None = None) -> Score:
    """Score the memories of a store; ``asked``: the ids of the only turns that were distilled, None for all."""
    result = Score()
    turns = {
        turn.turn_id: turn
        for turn in store.scan(Turn)
        if turn.on_active_path and (asked is None or turn.turn_id in asked)
    }
    originals = [turn for turn in turns.values() if turn.copy_of is None]
    result.turns = len(originals)
    result.failed = sum(turn.distillation.state not in FINISHED for turn in originals)
    result.dropped.update(reason for turn in originals for reason in turn.distillation.dropped)
    result.tokens = sum(t.distillation.prompt_tokens + t.distillation.completion_tokens for t in originals)
    memories = list(store.scan(Summary))
    by_place: dict[Place, list[Summary]] = defaultdict(list)
    for memory in memories:
        for place in sorted(_places(memory)):
            by_place[place].append(memory)
    _score_facts(result, by_place, {(t.session_id, t.turn_index) for t in turns.values()}, labels)
    of_place: dict[Place, list[Fact]] = defaultdict(list)
    for fact in labels.facts:
        of_place[fact.place].append(fact)
    for memory in memories:
        facts = [fact for place in _places(memory) for fact in of_place[place]]
        whole = " ".join([memory.summary, *memory.tags, *memory.evidence]).lower()
        result.unmatched += not any(fact.is_in(memory.summary) for fact in facts)
        result.too_long += len(memory.summary) > LONGEST
        result.injected += any(marker in whole for marker in labels.injected)
        result.recalled += any(marker in whole for marker in labels.recalled)
    result.memories = len(memories)
    found = audit(store)
    result.ungrounded = found["ungrounded"].count
    result.duplicates = found["duplicates"].count
    result.secrets = sum(
        any(secret in document.model_dump_json() for secret in labels.secrets)
        for kind in DOCUMENTS
        for document in store.scan(kind)
    )
    return result


def _score_facts(result: Score, by_place: dict[Place, list[Summary]], places: set[Place], labels: Labels) -> None:
    for place in sorted(labels.junk & places):
        result.junk += 1
        result.junk_noisy += bool(by_place[place])
        result.noisy += [place] if by_place[place] else []
    for fact in labels.facts:
        if fact.place not in places:
            continue
        kept = any(fact.is_in(memory.summary) for memory in by_place[fact.place])
        result.core += fact.core
        result.minor += not fact.core
        result.core_kept += kept and fact.core
        result.minor_kept += kept and not fact.core
        result.missed += [] if kept else [fact]


def _places(memory: Summary) -> set[Place]:
    """The turns that a memory cites."""
    return {(ref.session_id, int(ref.turn_id.rpartition("_")[2])) for ref in memory.source_refs}
