"""The strings of a line of JSON, and the line with others in their places: every other byte stays as it is.

Writing the parsed line anew would lose what JSON leaves open: numbers beyond 64 bits, names that are there twice,
blanks, the way a letter is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from memory_pipeline.redaction.naming import Promise, promise

_SYNTAX = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]')
"""Possessive: a state to come back to for each byte of a string would take a hundred times its size."""


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string in quotes from byte ``start`` to ``end``; ``text`` is to be redacted.

    With ``name``, ``text`` is ``"name": "value"``: a password is known by its name only.
    """

    start: int
    end: int
    text: str
    name: str | None = None

    def literal(self, redacted: str) -> bytes:
        """``redacted`` as it is written in its place."""
        if self.name is not None:
            redacted = redacted.removeprefix(f'"{self.name}": "').removesuffix('"')
        return orjson.dumps(redacted)


def json_strings(line: bytes) -> list[JsonString] | None:
    """The names and the values of an object or a list, in order; None for a line that is neither."""
    if line[:1] not in (b"{", b"["):
        return None
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    found: list[JsonString] = []
    names: list[str | None] = [None]  # of the values that are next in each open object or list
    objects: list[bool] = [False]
    is_name = False
    for token in _SYNTAX.finditer(line):
        match token[0]:
            case b"{" | b"[" as opened:
                names.append(None if opened == b"{" else names[-1])
                objects.append(opened == b"{")
                is_name = objects[-1]
            case b"}" | b"]":
                names.pop()
                objects.pop()
                is_name = False
            case b",":
                is_name = objects[-1]
            case b":":
                is_name = False
            case literal:
                text = orjson.loads(literal)
                if is_name:
                    names[-1] = text
                    found.append(JsonString(token.start(), token.end(), text))
                elif (name := names[-1]) is not None and _tells(name, text):
                    found.append(JsonString(token.start(), token.end(), f'"{name}": "{text}"', name))
                else:
                    found.append(JsonString(token.start(), token.end(), text))
    return found


def replaced(line: bytes, strings: Sequence[JsonString], texts: Iterable[str]) -> bytes:
    """The line with ``texts`` in place of the strings' own; a string whose text is the same stays as it is written."""
    pieces: list[bytes] = []
    position = 0
    for string, text in zip(strings, texts, strict=True):
        if text != string.text:
            pieces += [line[position : string.start], string.literal(text)]
            position = string.end
    return b"".join([*pieces, line[position:]])


def _tells(name: str, value: str) -> bool:
    return promise(name) != Promise.NOTHING and not re.search(r"[\"'`\\\s]", name + value)
