from __future__ import annotations

import json

import pytest

from memory_pipeline.sessions.framing import parse_line
from memory_pipeline_tests.sessions.logs import assistant, encode, header, user


def test_a_line_longer_than_the_limit_is_a_fault() -> None:
    assert parse_line(None).fault


@pytest.mark.parametrize(
    ("raw", "expected", "fault"),
    [
        (b'{"type":"a"}\r\n', [{"type": "a"}], None),
        (b"  \r\n", [], None),
        (b"", [], None),
        (b'{"a":"\\ud83d"}', [{"a": "\ud83d"}], None),
        (b'{"a":1,"a":2}', [{"a": 2}], None),
        (b'{"a":123456789012345678901234567890}', [{"a": 123456789012345678901234567890.0}], None),
        (b'\xef\xbb\xbf{"a":1}\n', [{"a": 1}], None),
        (b'{"a":1}\x00\x00\x00\n', [{"a": 1}], "NUL bytes"),
        (b"\x00" * 700, [], "NUL bytes"),
        (b'{"a":"x\xffy"}', [{"a": "x\ufffdy"}], "bytes that are not UTF-8"),
        (b'{"a":NaN,"b":-Infinity}', [{"a": None, "b": None}], "signs or numbers that JSON does not allow"),
        (b'{"a":"tab\there"}', [{"a": "tab\there"}], "signs or numbers that JSON does not allow"),
        (rb'{"a":"x \***@***.*** y \\ \u00e4"}', [{"a": "x \\***@***.*** y \\ ä"}], "wrong escapes"),
        (b"[]", [], "no JSON object"),
        (b"3", [], "no JSON object"),
        (b"null", [], "no JSON object"),
        (b'{"type":"message","id":"a","pare', [], "no JSON"),
        (b"\x89PNG\r", [], "bytes that are not UTF-8; no JSON"),
    ],
)
def test_what_can_be_read_of_a_line_is_read(raw: bytes, expected: list[object], fault: str | None) -> None:
    parsed = parse_line(raw)

    assert (list(parsed.records), parsed.fault) == (expected, fault)


def test_a_torn_record_loses_nothing_of_what_is_glued_to_it() -> None:
    torn = encode(assistant("a", None, 'half {"type": "text"}'))[:-40]
    whole = [user("b", "a"), header()]

    parsed = parse_line(torn + encode(*whole).replace(b"\n", b""))

    assert list(parsed.records) == whole
    assert parsed.fault == "damaged or glued records, 2 read"


def test_records_on_one_line_are_all_read() -> None:
    rows = [user("a", None), assistant("b", "a")]

    assert list(parse_line(encode(*rows).replace(b"\n", b"")).records) == rows


def test_json_inside_a_string_is_no_record() -> None:
    inner = json.dumps(user("x", None))
    torn = encode(assistant("a", None, inner))[:-20]

    assert parse_line(torn).records == ()


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"type":' * 500_000,
        b'{"type":"' * 500_000,
        b'{"a":' + b"9" * 10_000 + b"}",
        b"\\" * 2_000_000,
        b'{"a":[' + b'{"type":"x","timestamp":1},' * 200_000,
        b'{"a":"' + b'{"type":"x","timestamp":1}' * 200_000,
    ],
    ids=["brackets", "nested", "restarts", "strings", "digits", "backslashes", "values", "glued"],
)
def test_hostile_lines_neither_raise_nor_hang(raw: bytes) -> None:
    parse_line(raw)
