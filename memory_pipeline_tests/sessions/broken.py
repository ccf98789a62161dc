"""Makes broken session files of which it knows what must still come out, and judges what a reader made of them.

A file is built line by line as pi writes it, then damaged by several faults. Each fault keeps book: which messages
are left whole, which lines a reader must name. Everything follows from the seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memory_pipeline_tests.sessions.faults import FAULTS, TAILS
from memory_pipeline_tests.sessions.making import MARK, Line, Making, Message

_ABOUT_PARENTS = "parent"


@dataclass(frozen=True, slots=True)
class Broken:
    """A damaged file, what is whole in it, and what was done to it."""

    seed: int
    data: bytes
    messages: tuple[Message, ...]
    named: frozenset[int]
    suspect: frozenset[int]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of a file: the contents of its messages in order, and (line, reason) of its problems."""

    contents: list[str]
    problems: list[tuple[int, str]]


def complaints(broken: Broken, reading: Reading) -> list[str]:
    """How the reading breaks the promise; empty for a good reader."""
    wrong: list[str] = []
    found = [(match[0], content) for content in reading.contents for match in MARK.finditer(content)]
    times = Counter(mark for mark, _ in found)
    contents = dict(found)
    for message in broken.messages:
        if times[message.mark] != 1:
            wrong.append(f"{message.mark} came out {times[message.mark]} times")
        elif message.text is not None and contents[message.mark] != message.text:
            wrong.append(f"{message.mark} came out as {contents[message.mark]!r} instead of {message.text!r}")
    whole = {message.mark for message in broken.messages}
    order = [mark for mark, _ in found if mark in whole]
    if not wrong and order != [message.mark for message in broken.messages]:
        wrong.append(f"out of order: {order}")
    wrong += [f"{mark} came out twice" for mark, n in times.items() if n > 1 and mark not in whole]
    by_line = dict(reading.problems)
    wrong += [f"line {line} was skipped without a word" for line in sorted(broken.named - by_line.keys())]
    wrong += [f"line {line} was named without a reason" for line, reason in reading.problems if not reason.strip()]
    false_alarms = [
        (line, reason)
        for line, reason in reading.problems
        if line not in broken.named | broken.suspect and _ABOUT_PARENTS not in reason
    ]
    wrong += ["an argument of a tool came out as a message"] * ("forged" in reading.contents)
    return wrong + [f"line {line} is whole, but was named: {reason}" for line, reason in false_alarms]


def broken_file(seed: int) -> Broken:
    """The broken file of this seed: a session of 4 to 40 entries with one to six faults."""
    chance = random.Random(seed)
    making = Making(chance)
    faults = [chance.choice(FAULTS) for _ in range(chance.randint(1, 6))]
    for fault in faults:
        fault(making)
    tail = chance.choice(TAILS)
    end = tail(making)  # first, for it may move the last line
    messages = _first_of_each(making.lines)
    numbered = list(enumerate(making.lines, start=1))
    return Broken(
        seed=seed,
        data=b"\n".join(line.raw for line in making.lines) + end,
        messages=messages,
        named=frozenset(number for number, line in numbered if line.named),
        # A file without a valid header is named as line 0.
        suspect=frozenset({0, *(number for number, line in numbered if line.suspect)}),
        faults=(*(_name(fault) for fault in faults), _name(tail)),
    )


def _name(fault: Callable[..., Any]) -> str:
    return fault.__name__.strip("_")


def _first_of_each(lines: list[Line]) -> tuple[Message, ...]:
    """The messages that must come out, each where it stands first whole; a line that repeats a record must be named."""
    seen: set[bytes] = set()
    messages: dict[str, Message] = {}
    for line in lines:
        for record in line.records:
            line.named = line.named or record in seen
            seen.add(record)
        for message in line.messages:
            messages.setdefault(message.mark, message)
    return tuple(messages.values())
