"""What may have happened to a session file. Each fault damages some lines and writes down what that costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_pipeline_tests.sessions.making import (
    Line,
    Making,
    as_time,
    copied,
    cut_in,
    damage,
    encoded,
    into_text,
    joined,
    positions,
    put,
    rewrite,
)

_JUNK: tuple[Any, ...] = (None, True, 0, -1.5, 1e300, 2**70, "", "x", [], [[]], {}, {"type": "text"}, [None], "\ud83d")


def _torn(making: Making) -> None:
    """A line that stops in the middle."""
    if (i := making.pick()) is not None:
        raw = making.lines[i].raw
        making.lines[i] = Line(raw[: cut_in(making, raw)], named=True)


def _beheaded(making: Making) -> None:
    """A line whose beginning is gone."""
    if (i := making.pick()) is not None:
        raw = making.lines[i].raw
        making.lines[i] = Line(raw[making.chance.randint(1, len(raw) - 1) :], named=True)


def _glued(making: Making) -> None:
    """Whole records on one line, as if line ends were lost."""
    if (i := making.pick()) is not None and (last := making.whole_from(i)) > i + 1:
        between = making.chance.choice([b"", b"", b" ", b"\0\0", b"\xef\xbb\xbf", b","])
        making.lines[i:last] = [joined(making.lines[i:last], between)]


def _glued_to_torn(making: Making) -> None:
    """A record that stops in the middle, with the next one behind it on the line."""
    if (i := making.pick()) is not None and making.whole_from(i) > i + 1:
        torn = making.lines[i].raw
        making.lines[i : i + 2] = [joined([Line(torn[: cut_in(making, torn)]), making.lines[i + 1]])]


def _interleaved(making: Making) -> None:
    """Two writers at once: one record in the middle of another."""
    if (i := making.pick()) is not None and making.whole_from(i) > i + 1:
        outer = making.lines[i].raw
        cut = cut_in(making, outer)
        making.lines[i : i + 2] = [joined([Line(outer[:cut]), making.lines[i + 1], Line(outer[cut:])])]


def _repeated(making: Making) -> None:
    """A record once more, somewhere behind."""
    if (i := making.pick(linked=True)) is not None:
        copy = copied(making.lines[i])
        making.lines.insert(making.chance.randint(i + 1, len(making.lines)), copy)


def _prefix_repeated(making: Making) -> None:
    """Header and first entries written twice, as old pi does when it finds no answer in a file."""
    prefix = making.lines[: making.chance.randint(1, len(making.lines))] if making.linked else []
    making.lines += [copied(line) for line in prefix if line.row is not None]


def _repeated_and_glued(making: Making) -> None:
    """A record once more, on one line with another."""
    if (i := making.pick(linked=True)) is not None:
        copy = copied(making.lines[i])
        at = making.chance.randint(i + 1, len(making.lines))
        if making.whole_from(at) > at:
            making.lines[at] = joined([copy, making.lines[at]])


def _same_id(making: Making) -> None:
    """Two entries of one id that say different things."""
    one, other = making.pick(linked=True), making.pick(linked=True)
    if one is not None and other is not None and one != other:
        row, taken = making.lines[one].row, making.lines[other].row
        if row and taken:
            rewrite(making.lines[one], row | {"id": taken["id"]})


def _cyclic(making: Making) -> None:
    """A parent that comes later, or is the entry itself, or leads round in a circle."""
    one, other = making.pick(linked=True), making.pick(linked=True)
    if one is not None and other is not None:
        row, child = making.lines[one].row, making.lines[other].row
        if row and child:
            rewrite(making.lines[one], row | {"parentId": child["id"]})
            if making.chance.random() < 0.5 and one != other:
                rewrite(making.lines[other], child | {"parentId": row["id"]})


def _orphaned(making: Making) -> None:
    """Lines that are gone, with children that still name them."""
    for _ in range(making.chance.randint(1, 3)):
        if (i := making.pick()) is not None:
            del making.lines[i]


def _unknown_parent(making: Making) -> None:
    if (i := making.pick(linked=True)) is not None and (row := making.lines[i].row):
        rewrite(making.lines[i], row | {"parentId": making.chance.choice(["zz", "", 5, [], {}])})


def _reordered(making: Making) -> None:
    """Lines in another order; the header too, at times."""
    first = making.chance.choice([0, 1, 1, 1])
    window = making.lines[first:]
    making.chance.shuffle(window)
    making.lines[first:] = window


def _nuls(making: Making) -> None:
    """Runs of NUL bytes, as a crash leaves them: on a line of their own, around a record, within its text."""
    run = b"\0" * making.chance.choice([1, 7, 700, 5_000])
    if (i := making.pick(said=True)) is None:
        return
    line = making.lines[i]
    place = making.chance.choice(["line", "before", "after", "within"])
    if place == "line":
        making.lines.insert(i, Line(run, named=True))
    elif place == "within":
        damage(line, into_text(line, run), exact=True)
    else:
        damage(line, run + line.raw if place == "before" else line.raw + run, exact=True)


def _bad_utf8(making: Making) -> None:
    bad = making.chance.choice([b"\xff", b"\xc3", b"\xe2\x80", b"\xed\xa0\xbd", b"\xf0\x9f", b"\xfe\xff"])
    if (i := making.pick(said=True)) is not None:
        damage(making.lines[i], into_text(making.lines[i], bad))


def _bad_escape(making: Making) -> None:
    bad = making.chance.choice([rb"\***@***.***", rb"\x41", rb"\u12", rb"\u{1F600}", rb"\'", rb"\U0001F600", rb"C:\p"])
    if (i := making.pick(said=True)) is not None:
        damage(making.lines[i], into_text(making.lines[i], bad))


def _raw_control(making: Making) -> None:
    """Signs that JSON wants escaped."""
    if (i := making.pick(said=True)) is not None:
        damage(making.lines[i], into_text(making.lines[i], making.chance.choice([b"\t", b"\x1b[1m", b"\x07", b"\r"])))


def _several_in_one(making: Making) -> None:
    """NUL, a wrong byte and a wrong escape in one text."""
    if (i := making.pick(said=True)) is not None:
        damage(making.lines[i], into_text(making.lines[i], b"\0 \xff \\* \x01 "))


def _lone_surrogate(making: Making) -> None:
    """Half of a sign, escaped: JSON allows it, UTF-8 does not."""
    if (i := making.pick(said=True)) is not None:
        half = making.chance.choice([rb"\ud83d", rb"\udc88", rb"\ude00\ud83d"])
        damage(making.lines[i], into_text(making.lines[i], half), named=False)


def _no_number(making: Making) -> None:
    if (i := making.pick()) is not None:
        line = making.lines[i]
        value = making.chance.choice([b"NaN", b"Infinity", b"-Infinity"])
        damage(line, line.raw[:-1] + b',"more":' + value + b"}", exact=True)


def _wrongly_typed(making: Making) -> None:
    """Something else at any position of a record."""
    if (i := making.pick()) is not None and (row := making.lines[i].row):
        path = making.chance.choice(list(positions(row)))
        value = making.chance.choice(_JUNK)
        matters = path[0] in ("type", "summary", "content") or path[:2] == ("message",) or path[-1] == "role"
        matters = matters or path[:2] == ("message", "content")
        line = making.lines[i]
        # What carries the text may lose it; what does not must not cost it.
        messages = () if matters else line.messages
        silent = path == ("type",) and not isinstance(value, str)
        silent = silent or (row["type"] == "message" and path in (("message",), ("message", "role")))
        silent = silent and (path != ("message", "role") or not (isinstance(value, str) and value))
        making.lines[i] = Line(encoded(put(row, path, value)), messages=messages, named=silent, suspect=True)


def _wrongly_typed_header(making: Making) -> None:
    line = making.lines[0]
    if line.row is not None and line.row["type"] == "session":
        path = making.chance.choice(list(positions(line.row)))
        row = put(line.row, path, making.chance.choice(_JUNK))
        making.lines[0] = Line(encoded(row), suspect=True)


def _no_record(making: Making) -> None:
    """JSON that is no object, or nothing at all of JSON's."""
    chance = making.chance
    noise = chance.randbytes(chance.randint(1, 300)).replace(b"\n", b"") + b"\x80"
    json_of_other_kinds = [b"[]", b"3", b"null", b'"text"', b"true", b"{", b"}", b"../other.jsonl"]
    hostile = [b"[" * 5_000, b'{"a":' * 5_000, b'{"type":' * 300, b"\\" * 99]
    raw = chance.choice([noise, *json_of_other_kinds, *hostile])
    making.lines.insert(chance.randint(1, len(making.lines)), Line(raw, named=True))


def _blank(making: Making) -> None:
    raw = making.chance.choice([b"", b" ", b"\t", b"\r"])
    making.lines.insert(making.chance.randint(0, len(making.lines)), Line(raw))


def _carriage_returns(making: Making) -> None:
    for line in making.lines:
        line.raw += b"\r"
        line.row = None


def _byte_order_mark(making: Making) -> None:
    first = making.lines[0]
    first.raw = b"\xef\xbb\xbf" + first.raw.removeprefix(b"\xef\xbb\xbf")
    first.row = None


def _oversized(making: Making) -> None:
    """A tool output of hundreds of KB."""
    if (i := making.pick()) is not None and (row := making.lines[i].row):
        rewrite(making.lines[i], row | {"details": {"output": "x" * making.chance.choice([70_000, 1_100_000])}})


def _no_header(making: Making) -> None:
    if len(making.lines) > 5:
        del making.lines[0]


def _another_header(making: Making) -> None:
    row = {"type": "session", "version": 3, "id": "other", "timestamp": as_time(0), "cwd": "/other"}
    making.lines.insert(making.chance.randint(1, len(making.lines)), Line(encoded(row), suspect=True))


def _title_slot(making: Making) -> None:
    """omp's first line, which is overwritten in place."""
    making.lines.insert(0, Line(encoded({"type": "title", "v": 1, "title": "Fix login", "pad": " " * 150})))


FAULTS: tuple[Callable[[Making], None], ...] = (
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


def _properly(_making: Making) -> bytes:
    return b"\n"


def _without_line_end(making: Making) -> bytes:
    # Of damaged bytes without an end nobody can tell whether more is to come, so the last line is a good one.
    whole = next((line for line in reversed(making.lines) if line.row is not None and line.messages), None)
    if whole is not None:
        making.lines.remove(whole)
        making.lines.append(whole)
    return b"" if whole is not None else b"\n"


def _half_written(making: Making) -> bytes:
    torn = encoded({"type": "message", "id": "ff", "parentId": None, "message": {"role": "user", "content": "torn"}})
    making.lines.append(Line(torn[: making.chance.randint(1, len(torn) - 1)], named=True))
    return b""


def _in_nuls(making: Making) -> bytes:
    making.lines.append(Line(b"\0" * making.chance.choice([1, 512, 100_000]), named=True))
    return b""


TAILS: tuple[Callable[[Making], bytes], ...] = (_properly, _properly, _without_line_end, _half_written, _in_nuls)
