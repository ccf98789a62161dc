"""Measures an engine on session files with labels: facts kept, junk turns left silent.

A fact is kept if one memory of its turn holds at least half of its key terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.quality.labels import Fact, Labels, Place
from memory_pipeline.distillation import DistillationEngine, Draft
from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import MessageContext, SessionFile, group_turns, messages, outline


@dataclass(slots=True)
class Score:
    """Counts; ``missed`` names the core facts that no memory holds, ``noisy`` the junk turns with one; ``unmatched``
    are the memories of other turns that hold no labelled fact.
    """

    core: int = 0
    core_kept: int = 0
    junk: int = 0
    junk_silent: int = 0
    memories: int = 0
    unmatched: int = 0
    missed: list[Fact] = field(default_factory=list)
    noisy: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Session:
    """A session file as the pipeline reads it: its turns and the messages of each."""

    turns: tuple[Turn, ...]
    messages: dict[str, list[RawMessage]]


def read_session(path: Path, redactor: Redactor) -> Session:
    status = path.stat()
    known = outline(SessionFile(path, path.stem, status.st_size, status.st_mtime_ns))
    context = MessageContext(path.stem, known.header.cwd, "laptop", message_cap=1 << 20)
    in_order = sorted(messages(known, context, redactor), key=lambda m: (m.turn_index, m.message_index))
    by_turn: dict[str, list[RawMessage]] = defaultdict(list)
    for message in in_order:
        by_turn[message.turn_id].append(message)
    return Session(tuple(group_turns(in_order)), by_turn)


def distil(session: Session, engine: DistillationEngine) -> dict[Place, tuple[Draft, ...]]:
    distiller = engine.session()
    return {
        (turn.session_id, turn.turn_index): distiller.distill(turn, session.messages[turn.turn_id]).drafts
        for turn in session.turns
        if turn.on_active_path
    }


def score(sessions: Iterable[Session], engine: DistillationEngine, labels: Labels) -> Score:
    """Turns off the active path count for nothing: nothing is to be kept of them, whatever their labels say."""
    result = Score()
    kept = {place: drafts for session in sessions for place, drafts in distil(session, engine).items()}
    for place, drafts in kept.items():
        if place in labels.junk:
            result.junk += 1
            result.junk_silent += not drafts
            result.noisy += [place] if drafts else []
            continue
        facts = [fact for fact in labels.facts if fact.place == place]
        result.memories += len(drafts)
        result.unmatched += sum(not any(fact.is_in(draft.summary) for fact in facts) for draft in drafts)
    for fact in labels.facts:
        if fact.core and fact.place in kept:
            found = any(fact.is_in(draft.summary) for draft in kept[fact.place])
            result.core += 1
            result.core_kept += found
            result.missed += [] if found else [fact]
    return result
