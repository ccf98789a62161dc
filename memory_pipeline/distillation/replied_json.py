"""Finds the JSON value in what a model replied: behind thoughts, in a code fence, with words after it, or damaged.

A value that is whole is taken as it stands. A damaged one is repaired, but nothing that was cut off is taken for whole.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import json_repair

from memory_pipeline.errors import ModelAnswerError

LEAD_CHARS = 200
"""So much may stand before the value: a sentence and a code fence. More is prose that happens to hold brackets."""
LONGEST_REPAIR = 100_000
"""Characters; repairing takes a second for so many."""

_DECODER = json.JSONDecoder(strict=False)  # line breaks inside strings are what small models write
_OPENING = re.compile(r"""\{\s{0,200}["'“]?(?:memories|entities|summary)\b|\[\s{0,200}\{\s{0,200}["'“]?summary\b""")
_BRACKET = re.compile(r"[{\[]")
_THOUGHTS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHTS_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_AFTERWORDS = re.compile(r"[\s`]*")
_EMPTY_LIST = re.compile(r"\[\s*\]")
_QUOTES = "\"'”"

Fits = Callable[[Any], bool]


def replied_json(text: str, fits: Fits) -> Any:
    """The one JSON value in ``text``. Raises ModelAnswerError, without a word of the text.

    Where several values are found, those that ``fits`` takes for an answer count; if they differ, none does.
    """
    text = text.strip().strip("\ufeff").strip()
    if not text:
        raise ModelAnswerError("the model's answer was empty")
    if _BRACKET.match(text):
        return _leading(text, fits)
    thinks = _THOUGHTS.match(text) is not None
    ends = list(_THOUGHTS_END.finditer(text))
    if ends:
        behind = [text[ends[-1].end() :], text[ends[0].end() :]]
        return _first_read(behind if thinks else [*behind, text], fits)
    return _behind_open_thoughts(text, fits) if thinks else _leading(text, fits)


def _first_read(bodies: list[str], fits: Fits) -> Any:
    """Thoughts may name their own closing tag, and so may the answer."""
    *others, last = bodies
    for body in others:
        with contextlib.suppress(ModelAnswerError):
            value = _leading(body.strip(), fits)
            if fits(value):
                return value
    return _leading(last.strip(), fits)


def _leading(text: str, fits: Fits) -> Any:
    """The value that ``text`` begins with, a few words aside."""
    if not text:
        raise ModelAnswerError("the model's answer was empty")
    bracket = _BRACKET.search(text[:LEAD_CHARS])
    if bracket is None:
        raise ModelAnswerError(f"the model's answer of {len(text)} characters is not JSON")
    found = _decoded(text, bracket.start())
    if found is None:
        return _repaired(text[bracket.start() :], fits)
    value, end = found
    if any(other != value for other, _ in _answers(text[end:], fits)):
        raise ModelAnswerError("the model's answer holds several that differ")
    return value


def _behind_open_thoughts(text: str, fits: Fits) -> Any:
    """Thoughts without an end may hold drafts: the answer is what ends the text, or all that there is."""
    answers = list(_answers(text, fits))
    if answers:
        value, end = answers[-1]
        if _AFTERWORDS.fullmatch(text, end) or all(other == value for other, _ in answers):
            return value
        raise ModelAnswerError("the model's answer holds several that differ")
    openings = list(_OPENING.finditer(text))
    if not openings:
        raise ModelAnswerError(f"the model's answer of {len(text)} characters is not JSON")
    return _repaired(text[openings[-1].start() :], fits)


def _answers(text: str, fits: Fits) -> Iterator[tuple[Any, int]]:
    """The whole values in ``text`` that may be answers, and where each ends."""
    at = 0
    while opening := _OPENING.search(text, at):
        value, at = _decoded(text, opening.start()) or (None, opening.end())
        if value is not None and fits(value):
            yield value, at


def _decoded(text: str, start: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str, fits: Fits) -> Any:
    not_json = ModelAnswerError(f"the model's answer of {len(text)} characters is not JSON")
    if len(text) > LONGEST_REPAIR:
        raise not_json
    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError):
        raise not_json from None
    if not fits(value):
        raise not_json
    if not _EMPTY_LIST.search(text) and not any(True for _ in _strings(value)):
        raise ModelAnswerError("the model's answer breaks off")
    if not all(_stands_whole(string, text) for string in _strings(value)):
        raise ModelAnswerError("the model's answer breaks off")
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _stands_whole(string: str, text: str) -> bool:
    """Whether the text holds the string to its closing quote, and does not end with it."""
    spellings = {string, json.dumps(string)[1:-1], json.dumps(string, ensure_ascii=False)[1:-1]}
    if string and text.rstrip().endswith(tuple(s.rstrip() for s in spellings)):
        return False
    return any(spelling + quote in text for spelling in spellings for quote in _QUOTES)
