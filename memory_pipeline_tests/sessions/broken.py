"""Makes broken session files of which it knows what must still come out, and judges what a reader made of them.

A file is built line by line as pi writes it, then damaged by several faults. Each fault keeps book: which messages
are left whole, which lines a reader must name. Everything follows from the seed.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[str, Any]

MARK = re.compile(r"mark\d{5}")
"""What each message's text begins with."""

_WORDS = (
    "port",
    "9090",
    "straße",
    "次",
    "tide gauge",
    '"quoted"',
    "back\\slash",
    "}{",
    '{"type":"message"',
    "😀",
    "[]",
)
_RAW_SIGNS = ("\u2028", "\u2029", "\u0085")  # JavaScript writes these as they are
_ABOUT_PARENTS = "parent"
_JUNK: tuple[Any, ...] = (None, True, 0, -1.5, 1e300, 2**70, "", "x", [], [[]], {}, {"type": "text"}, [None], "\ud83d")


@dataclass(frozen=True, slots=True)
class Message:
    """A message that must come out. ``text`` is its whole content, None where the fault changes some of it."""

    mark: str
    text: str | None


@dataclass(slots=True)
class Line:
    """One line of the file without its end. ``row`` is its record as long as a fault may still change it."""

    raw: bytes
    row: Row | None = None
    messages: tuple[Message, ...] = ()
    records: tuple[bytes, ...] = ()
    """The bytes of each record in it that is as pi wrote it, said or not: one that came before is a repetition."""
    named: bool = False
    """A reader must name it among the problems."""
    suspect: bool = False
    """A reader may name it."""


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
    making = _Making(chance)
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


@dataclass(slots=True)
class _Making:
    """A file in the making: its header, then entries, each the child of one before it."""

    chance: random.Random
    lines: list[Line] = field(default_factory=list)
    linked: bool = True
    """Not so in v1, where an entry has no id, and one that comes again looks like another."""

    def __post_init__(self) -> None:
        self.linked = self.chance.random() > 0.1
        header = {"type": "session", "version": 3, "id": "s1", "timestamp": _time(0), "cwd": "/p"}
        if not self.linked:
            del header["version"]
        # Where faults put entries before it, a reader may say so.
        self.lines.append(replace(_line(header), suspect=True))
        ids: list[str] = []
        for number in range(self.chance.randint(4, 40)):
            parent = None if not ids else self.chance.choice(ids) if self.chance.random() < 0.15 else ids[-1]
            # The first three speak for themselves, whatever becomes of the header.
            kind = "user" if number < 3 else self.chance.choice(_KINDS)
            line = _entry(number, kind, parent, self.chance)
            if line.row and not self.linked:
                _rewrite(line, {key: value for key, value in line.row.items() if key not in ("id", "parentId")})
            self.lines.append(line)
            ids.append(f"{number:08x}")

    def pick(self, *, said: bool = False, linked: bool = False) -> int | None:
        """Index of an entry that may be changed; ``said``: of one that is a message, ``linked``: that has an id.

        None where there is none left, or too few to be a session.
        """
        if linked and not self.linked:
            return None
        left = [i for i, line in enumerate(self.lines) if line.row is not None and line.row["type"] != "session"]
        if len(left) < 4:
            return None
        chosen = [i for i in left if self.lines[i].messages] if said else left
        return self.chance.choice(chosen) if chosen else None

    def whole_from(self, i: int) -> int:
        """Index behind the last of at most five lines from ``i`` on that hold one whole record each."""
        last = i
        while last < len(self.lines) and last - i < 5 and self.lines[last].records == (self.lines[last].raw,):
            last += 1
        return last


_FORGED: Row = {
    "id": "ffffffff",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "message": {"role": "user", "content": [{"type": "text", "text": "forged"}]},
}
_KINDS = ("user", "assistant", "toolResult", "custom_message", "compaction", "model_change", "label")


def _entry(number: int, kind: str, parent: str | None, chance: random.Random) -> Line:
    text = f"mark{number:05d} " + " ".join(chance.choices(_WORDS, k=chance.randint(1, 12)))
    if chance.random() < 0.2:
        text += chance.choice(_RAW_SIGNS) + "after"
    if chance.random() < 0.01:
        text += " long" * 50_000
    row: Row = {"type": kind, "id": f"{number:08x}", "parentId": parent, "timestamp": _time(number)}
    if kind in ("user", "assistant", "toolResult"):
        said: Row = {"role": kind, "content": [{"type": "text", "text": text}], "timestamp": 1767225600000 + number}
        if kind == "assistant":
            if chance.random() < 0.3:
                # What a tool was told to write is nothing that was said, however much of its line is lost.
                arguments = {"rows": [{"type": "message", **_FORGED}, _FORGED], "row": {"type": "message", **_FORGED}}
                said["content"].append({"type": "toolCall", "id": "c", "name": "write", "arguments": arguments})
                text += f"\n[calls write] {json.dumps(arguments)}"
            said |= {"provider": "p", "model": "m", "usage": {"input": 1, "cost": {"total": 0.5}}, "stopReason": "stop"}
        if kind == "toolResult":
            said |= {"toolCallId": "c", "toolName": "bash", "isError": False, "details": {"diff": [1, {"type": "x"}]}}
        row |= {"type": "message", "message": said}
    elif kind == "custom_message":
        row |= {"customType": "note", "content": text, "display": True}
    elif kind == "compaction":
        row |= {"summary": text, "firstKeptEntryId": "00000000", "tokensBefore": 9}
    else:
        return _line(row | {"provider": "p", "modelId": "m", "targetId": parent})
    return _line(row, Message(f"mark{number:05d}", text))


def _time(number: int) -> str:
    return f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000Z"


def _line(row: Row, *messages: Message) -> Line:
    raw = _bytes(row)
    return Line(raw, row, messages, (raw,))


def _bytes(row: Row) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r"[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", text).encode()


# --- faults: each damages some lines and writes down what that costs ---


def _torn(making: _Making) -> None:
    """A line that stops in the middle."""
    if (i := making.pick()) is not None:
        raw = making.lines[i].raw
        making.lines[i] = Line(raw[: _cut(making, raw)], named=True)


def _beheaded(making: _Making) -> None:
    """A line whose beginning is gone."""
    if (i := making.pick()) is not None:
        raw = making.lines[i].raw
        making.lines[i] = Line(raw[making.chance.randint(1, len(raw) - 1) :], named=True)


def _glued(making: _Making) -> None:
    """Whole records on one line, as if line ends were lost."""
    if (i := making.pick()) is not None and (last := making.whole_from(i)) > i + 1:
        between = making.chance.choice([b"", b"", b" ", b"\0\0", b"\xef\xbb\xbf", b","])
        making.lines[i:last] = [_joined(making.lines[i:last], between)]


def _glued_to_torn(making: _Making) -> None:
    """A record that stops in the middle, with the next one behind it on the line."""
    if (i := making.pick()) is not None and making.whole_from(i) > i + 1:
        torn = making.lines[i].raw
        making.lines[i : i + 2] = [_joined([Line(torn[: _cut(making, torn)]), making.lines[i + 1]])]


def _interleaved(making: _Making) -> None:
    """Two writers at once: one record in the middle of another."""
    if (i := making.pick()) is not None and making.whole_from(i) > i + 1:
        outer = making.lines[i].raw
        cut = _cut(making, outer)
        making.lines[i : i + 2] = [_joined([Line(outer[:cut]), making.lines[i + 1], Line(outer[cut:])])]


def _repeated(making: _Making) -> None:
    """A record once more, somewhere behind."""
    if (i := making.pick(linked=True)) is not None:
        copy = _copy(making.lines[i])
        making.lines.insert(making.chance.randint(i + 1, len(making.lines)), copy)


def _prefix_repeated(making: _Making) -> None:
    """Header and first entries written twice, as old pi does when it finds no answer in a file."""
    prefix = making.lines[: making.chance.randint(1, len(making.lines))] if making.linked else []
    making.lines += [_copy(line) for line in prefix if line.row is not None]


def _repeated_and_glued(making: _Making) -> None:
    """A record once more, on one line with another."""
    if (i := making.pick(linked=True)) is not None:
        copy = _copy(making.lines[i])
        at = making.chance.randint(i + 1, len(making.lines))
        if making.whole_from(at) > at:
            making.lines[at] = _joined([copy, making.lines[at]])


def _same_id(making: _Making) -> None:
    """Two entries of one id that say different things."""
    one, other = making.pick(linked=True), making.pick(linked=True)
    if one is not None and other is not None and one != other:
        row, taken = making.lines[one].row, making.lines[other].row
        if row and taken:
            _rewrite(making.lines[one], row | {"id": taken["id"]})


def _cyclic(making: _Making) -> None:
    """A parent that comes later, or is the entry itself, or leads round in a circle."""
    one, other = making.pick(linked=True), making.pick(linked=True)
    if one is not None and other is not None:
        row, child = making.lines[one].row, making.lines[other].row
        if row and child:
            _rewrite(making.lines[one], row | {"parentId": child["id"]})
            if making.chance.random() < 0.5 and one != other:
                _rewrite(making.lines[other], child | {"parentId": row["id"]})


def _orphaned(making: _Making) -> None:
    """Lines that are gone, with children that still name them."""
    for _ in range(making.chance.randint(1, 3)):
        if (i := making.pick()) is not None:
            del making.lines[i]


def _unknown_parent(making: _Making) -> None:
    if (i := making.pick(linked=True)) is not None and (row := making.lines[i].row):
        _rewrite(making.lines[i], row | {"parentId": making.chance.choice(["zz", "", 5, [], {}])})


def _reordered(making: _Making) -> None:
    """Lines in another order; the header too, at times."""
    first = making.chance.choice([0, 1, 1, 1])
    window = making.lines[first:]
    making.chance.shuffle(window)
    making.lines[first:] = window


def _nuls(making: _Making) -> None:
    """Runs of NUL bytes, as a crash leaves them: on a line of their own, around a record, within its text."""
    run = b"\0" * making.chance.choice([1, 7, 700, 5_000])
    if (i := making.pick(said=True)) is None:
        return
    line = making.lines[i]
    place = making.chance.choice(["line", "before", "after", "within"])
    if place == "line":
        making.lines.insert(i, Line(run, named=True))
    elif place == "within":
        _damage(line, _into_text(line, run), exact=True)
    else:
        _damage(line, run + line.raw if place == "before" else line.raw + run, exact=True)


def _bad_utf8(making: _Making) -> None:
    bad = making.chance.choice([b"\xff", b"\xc3", b"\xe2\x80", b"\xed\xa0\xbd", b"\xf0\x9f", b"\xfe\xff"])
    if (i := making.pick(said=True)) is not None:
        _damage(making.lines[i], _into_text(making.lines[i], bad))


def _bad_escape(making: _Making) -> None:
    bad = making.chance.choice([rb"\***@***.***", rb"\x41", rb"\u12", rb"\u{1F600}", rb"\'", rb"\U0001F600", rb"C:\p"])
    if (i := making.pick(said=True)) is not None:
        _damage(making.lines[i], _into_text(making.lines[i], bad))


def _raw_control(making: _Making) -> None:
    """Signs that JSON wants escaped."""
    if (i := making.pick(said=True)) is not None:
        _damage(making.lines[i], _into_text(making.lines[i], making.chance.choice([b"\t", b"\x1b[1m", b"\x07", b"\r"])))


def _several_in_one(making: _Making) -> None:
    """NUL, a wrong byte and a wrong escape in one text."""
    if (i := making.pick(said=True)) is not None:
        _damage(making.lines[i], _into_text(making.lines[i], b"\0 \xff \\* \x01 "))


def _lone_surrogate(making: _Making) -> None:
    """Half of a sign, escaped: JSON allows it, UTF-8 does not."""
    if (i := making.pick(said=True)) is not None:
        half = making.chance.choice([rb"\ud83d", rb"\udc88", rb"\ude00\ud83d"])
        _damage(making.lines[i], _into_text(making.lines[i], half), named=False)


def _no_number(making: _Making) -> None:
    if (i := making.pick()) is not None:
        line = making.lines[i]
        value = making.chance.choice([b"NaN", b"Infinity", b"-Infinity"])
        _damage(line, line.raw[:-1] + b',"more":' + value + b"}", exact=True)


def _wrongly_typed(making: _Making) -> None:
    """Something else at any position of a record."""
    if (i := making.pick()) is not None and (row := making.lines[i].row):
        path = making.chance.choice(list(_positions(row)))
        value = making.chance.choice(_JUNK)
        matters = path[0] in ("type", "summary", "content") or path[:2] == ("message",) or path[-1] == "role"
        matters = matters or path[:2] == ("message", "content")
        line = making.lines[i]
        # What carries the text may lose it; what does not must not cost it.
        messages = () if matters else line.messages
        silent = path == ("type",) and not isinstance(value, str)
        silent = silent or (row["type"] == "message" and path in (("message",), ("message", "role")))
        silent = silent and (path != ("message", "role") or not (isinstance(value, str) and value))
        making.lines[i] = Line(_bytes(_put(row, path, value)), messages=messages, named=silent, suspect=True)


def _wrongly_typed_header(making: _Making) -> None:
    line = making.lines[0]
    if line.row is not None and line.row["type"] == "session":
        path = making.chance.choice(list(_positions(line.row)))
        row = _put(line.row, path, making.chance.choice(_JUNK))
        making.lines[0] = Line(_bytes(row), suspect=True)


def _no_record(making: _Making) -> None:
    """JSON that is no object, or nothing at all of JSON's."""
    chance = making.chance
    noise = chance.randbytes(chance.randint(1, 300)).replace(b"\n", b"") + b"\x80"
    json_of_other_kinds = [b"[]", b"3", b"null", b'"text"', b"true", b"{", b"}", b"../other.jsonl"]
    hostile = [b"[" * 5_000, b'{"a":' * 5_000, b'{"type":' * 300, b"\\" * 99]
    raw = chance.choice([noise, *json_of_other_kinds, *hostile])
    making.lines.insert(chance.randint(1, len(making.lines)), Line(raw, named=True))


def _blank(making: _Making) -> None:
    raw = making.chance.choice([b"", b" ", b"\t", b"\r"])
    making.lines.insert(making.chance.randint(0, len(making.lines)), Line(raw))


def _carriage_returns(making: _Making) -> None:
    for line in making.lines:
        line.raw += b"\r"
        line.row = None


def _byte_order_mark(making: _Making) -> None:
    first = making.lines[0]
    first.raw = b"\xef\xbb\xbf" + first.raw.removeprefix(b"\xef\xbb\xbf")
    first.row = None


def _oversized(making: _Making) -> None:
    """A tool output of hundreds of KB."""
    if (i := making.pick()) is not None and (row := making.lines[i].row):
        _rewrite(making.lines[i], row | {"details": {"output": "x" * making.chance.choice([70_000, 1_100_000])}})


def _no_header(making: _Making) -> None:
    if len(making.lines) > 5:
        del making.lines[0]


def _another_header(making: _Making) -> None:
    row = {"type": "session", "version": 3, "id": "other", "timestamp": _time(0), "cwd": "/other"}
    making.lines.insert(making.chance.randint(1, len(making.lines)), Line(_bytes(row), suspect=True))


def _title_slot(making: _Making) -> None:
    """omp's first line, which is overwritten in place."""
    making.lines.insert(0, Line(_bytes({"type": "title", "v": 1, "title": "Fix login", "pad": " " * 150})))


FAULTS: tuple[Callable[[_Making], None], ...] = (
    _torn,
    _beheaded,
    _glued,
    _glued_to_torn,
    _interleaved,
    _repeated,
    _prefix_repeated,
    _repeated_and_glued,
    _same_id,
    _cyclic,
    _orphaned,
    _unknown_parent,
    _reordered,
    _nuls,
    _bad_utf8,
    _bad_escape,
    _raw_control,
    _several_in_one,
    _lone_surrogate,
    _no_number,
    _wrongly_typed,
    _wrongly_typed,
    _wrongly_typed_header,
    _no_record,
    _blank,
    _carriage_returns,
    _byte_order_mark,
    _oversized,
    _no_header,
    _another_header,
    _title_slot,
)


# --- how a file may end ---


def _properly(_making: _Making) -> bytes:
    return b"\n"


def _without_line_end(making: _Making) -> bytes:
    # Of damaged bytes without an end nobody can tell whether more is to come, so the last line is a good one.
    whole = next((line for line in reversed(making.lines) if line.row is not None and line.messages), None)
    if whole is not None:
        making.lines.remove(whole)
        making.lines.append(whole)
    return b"" if whole is not None else b"\n"


def _half_written(making: _Making) -> bytes:
    torn = _bytes({"type": "message", "id": "ff", "parentId": None, "message": {"role": "user", "content": "torn"}})
    making.lines.append(Line(torn[: making.chance.randint(1, len(torn) - 1)], named=True))
    return b""


def _in_nuls(making: _Making) -> bytes:
    making.lines.append(Line(b"\0" * making.chance.choice([1, 512, 100_000]), named=True))
    return b""


TAILS: tuple[Callable[[_Making], bytes], ...] = (_properly, _properly, _without_line_end, _half_written, _in_nuls)


# --- means ---


def _rewrite(line: Line, row: Row) -> None:
    line.row, line.raw = row, _bytes(row)
    line.records = (line.raw,)


def _damage(line: Line, raw: bytes, *, exact: bool = False, named: bool = True) -> None:
    """Other bytes for a line whose messages still must come out; ``exact``: with their text as it was."""
    line.raw, line.row, line.records = raw, None, ()
    line.named = line.named or named
    if not exact:
        line.messages = tuple(Message(message.mark, None) for message in line.messages)


def _copy(line: Line) -> Line:
    """The same line once more. From now on neither may be changed within, or they would be two records."""
    line.row = None
    return replace(line)


def _cut(making: _Making, raw: bytes) -> int:
    """Where to cut a record. Not right behind an object: if that is one of its values, nobody could tell any more."""
    cut = making.chance.randint(1, len(raw) - 1)
    return cut - 1 if raw[:cut].endswith(b"}") else cut


def _joined(parts: list[Line], between: bytes = b"") -> Line:
    return Line(
        between.join(part.raw for part in parts),
        messages=tuple(message for part in parts for message in part.messages),
        records=tuple(record for part in parts for record in part.records),
        named=True,
    )


def _into_text(line: Line, inserted: bytes) -> bytes:
    """The line with bytes put in behind its message's mark."""
    mark = line.messages[0].mark.encode()
    head, _, tail = line.raw.partition(mark)
    return head + mark + inserted + tail


def _positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from _positions(part, (*path, key))


def _put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_put(part, rest, new) if i == key else part for i, part in enumerate(value)]
    return {name: _put(part, rest, new) if name == key else part for name, part in value.items()}
