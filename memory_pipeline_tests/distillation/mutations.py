"""Swaps one name, number, version or path of a recorded memory for another one of its kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from memory_pipeline.distillation.contract import Proposal
from memory_pipeline.distillation.said import Said, heard, said
from memory_pipeline.redaction import Redactor
from memory_pipeline_tests.distillation.labelled import read_session

KINDS = {
    "number": re.compile(r"(?<![\w.,:/-])\d+(?:,\d{3})*(?![\w:/-]|[.,]\d)"),
    "version": re.compile(r"(?<![\w.])v?\d+(?:\.\d+)+(?![\w.]*\w)"),
    "path": re.compile(r"(?<![\w./-])[\w.~-]*/[\w./*-]*\w"),
    "name": re.compile(r"(?<=[a-z,] )[A-Z][A-Za-zäöü]{2,}"),
}
FOREIGN = {
    "number": ["317", "46", "9021", "73", "588", "2750"],
    "version": ["7.4.9", "v4.11", "0.93.2", "12.6"],
    "path": ["src/omega/planner.rs", "/opt/zeta/run.conf", "lib/quux/index.mjs"],
    "name": ["Marlowe", "Zanzibar", "Kubernetes", "Hannelore", "Oracle", "Bartosz"],
}
"""What stands in no turn, of each kind."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A memory of a capable model with its turn; ``text`` is all that was said and printed there."""

    proposal: Proposal
    spoken: list[Said]
    heard: list[Said]
    project: str
    text: str


@dataclass(frozen=True, slots=True)
class Mutation:
    kind: str
    summary: str
    value: str

    def survives_in(self, summary: str) -> bool:
        return summary.count(self.value) >= self.summary.count(self.value)


def recorded(evalset: Path, redactor: Redactor) -> Iterator[Recorded]:
    """The recorded memories of turns on the active path."""
    lines = (evalset / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {(line["session"], line["turn_index"]): line["answer"] for line in map(json.loads, lines)}
    for path in sorted((evalset / "sessions").rglob("*.jsonl")):
        session = read_session(path, redactor)
        for turn in session.turns:
            messages = session.messages[turn.turn_id]
            answer = answers.get((path.stem, turn.turn_index))
            for memory in answer["memories"] if answer and turn.on_active_path else ():
                proposal = Proposal(memory["summary"], tuple(memory["tags"]), tuple(memory["evidence"]))
                text = "\n".join(message.content for message in messages)
                yield Recorded(proposal, said(messages), heard(messages), Path(turn.project).name, text)


def mutate(memory: Recorded, random: Random, *, from_turn: bool) -> Mutation | None:
    """One value swapped, for one from elsewhere in the turn or one from nowhere; None where there is none to be had."""
    summary = memory.proposal.summary
    spots = [(kind, found) for kind, pattern in KINDS.items() for found in pattern.finditer(summary)]
    random.shuffle(spots)
    for kind, found in spots:
        old = found[0].lower()
        pool = sorted(set(KINDS[kind].findall(memory.text))) if from_turn else FOREIGN[kind]
        values = [
            value
            for value in pool
            if len(value) < 40
            and value not in summary
            and value.lower() not in old
            and old not in value.lower()
            and (from_turn or value.lower() not in memory.text.lower())
        ]
        if values:
            value = random.choice(values)
            return Mutation(kind, summary[: found.start()] + value + summary[found.end() :], value)
    return None
