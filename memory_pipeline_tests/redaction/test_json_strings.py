"""A line of JSON loses its secrets and nothing else."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.redaction.json_strings import json_strings, replaced

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def changed(line: bytes, old: str, new: str) -> bytes:
    strings = json_strings(line)
    assert strings is not None
    return replaced(line, strings, [string.text.replace(old, new) for string in strings])


def texts_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *texts_of(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in texts_of(inner)]
    return []


@given(st.lists(JSON) | st.dictionaries(st.text(), JSON), st.booleans())
def test_every_string_is_found_and_can_be_another(value: object, plain: bool) -> None:
    line = json.dumps(value, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    strings = json_strings(line)
    if strings is None:
        return  # numbers and letters that the parser refuses are read as text
    assert [json.loads(line[string.start : string.end]) for string in strings] == texts_of(value)
    assert replaced(line, strings, [string.text for string in strings]) == line
    others = [f"{number}" for number in range(len(strings))]
    assert texts_of_line(replaced(line, strings, others)) == others


def texts_of_line(line: bytes) -> list[str]:
    strings = json_strings(line)
    assert strings is not None
    return [json.loads(line[string.start : string.end]) for string in strings]


def test_all_but_the_secret_stays_as_it_is_written() -> None:
    line = b'{ "n": 123456789012345678901234567890, "a": 1, "a": 2, "t": "\\u00e9\\/", "p": "old", "e": 1.50e+3 }\r\n'
    assert changed(line, "old", "new") == line.replace(b"old", b"new")


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD"])
def test_a_password_is_shown_with_its_name(name: str) -> None:
    strings = json_strings(json.dumps({name: "x1y2z3", "list": [{name: ["p4q5r6"]}], "other": "v"}).encode())
    assert strings is not None
    assert [string.text for string in strings] == [
        name, f'"{name}": "x1y2z3"', "list", name, f'"{name}": "p4q5r6"', "other", "v",
    ]  # fmt: skip
    assert changed(json.dumps({name: "x1y2z3"}).encode(), "x1y2z3", "[gone]") == f'{{"{name}": "[gone]"}}'.encode()


@pytest.mark.parametrize("line", [b"", b"text", b"[1, 2", b'"a string"', b"{'a': 1}", b"\xff{}"])
def test_what_is_no_object_or_list_is_no_json_here(line: bytes) -> None:
    assert json_strings(line) is None


def test_a_long_string_takes_little_more_than_itself() -> None:
    line = b'{"a": "' + b"x" * 20_000_000 + b'\\n", "b": "old"}'
    tracemalloc.start()
    try:
        strings = json_strings(line)
        assert strings is not None
        assert len(strings) == 4
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(line), "a regular expression that can go back takes 200 times as much"
