"""Splits a turn that is longer than the model's context into parts, each with the user's message before it.

Messages stay whole where they fit into a part, else they are divided at line breaks. Nothing is left out of a turn of
up to ``MOST_PARTS`` parts; of a longer one the middle is, and how much is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memory_pipeline.distillation.shortening import CHARS_PER_TOKEN, HEAD_SHARE, keep_ends, shorten

MOST_PARTS = 16
"""Calls for one turn. With a context of 8,192 tokens about 250,000 characters."""
USER_SHARE = 0.2
"""Of a part, for the user's message that is repeated in it."""
PIECE_SHARE = 0.25
"""Of a part: how large the pieces of a divided message are. Small ones fill the parts better."""
FEWEST_TOKENS = 24
"""Less is no room for anything: a part is never made smaller."""

_LABELS = r"(?:User(?: runs bash)?|Assistant(?: calls \S+)?|Tool(?: \S+)?):"
_MESSAGE = re.compile(rf"\n(?={_LABELS})")
_LABEL = re.compile(_LABELS)
_CONTINUED = "{label} […] "

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Split:
    """``cut_chars``: characters of the turn that are in none of the parts."""

    parts: tuple[str, ...]
    cut_chars: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A message, or a stretch of one; ``again`` stands before a stretch that begins a part, to say who goes on."""

    text: str
    tokens: int
    again: str = ""


def messages_of(turn_text: str) -> list[str]:
    """The messages of a turn's transcript, each with its label, in order."""
    return _MESSAGE.split(turn_text)


def split(messages: Sequence[str], *, tokens: int, count: Count) -> Split:
    """The messages of a transcript in parts of at most ``tokens`` tokens each, as ``count`` counts them."""
    whole = "\n".join(messages)
    if len(whole) <= tokens * CHARS_PER_TOKEN and count(whole) <= tokens:
        return Split((whole,))
    asked = shorten(_opening(messages), tokens=int(tokens * USER_SHARE), count=count).text
    room = max(tokens - count(asked), FEWEST_TOKENS)
    longest = MOST_PARTS * room * CHARS_PER_TOKEN
    cut_chars = 0
    pieces: list[_Piece] = []
    for message in messages:
        short = keep_ends(message, longest)
        cut_chars += short.cut_chars
        pieces += _pieces(short.text, room, count)
    head, tail, left_out = _within_limit(list(_packed(pieces, room)))
    kept = [*head, *tail]
    if left_out:
        cut_chars += left_out
        kept[len(head) - 1] += f"\n[… {left_out:,} characters left out …]"
    return Split((kept[0], *(f"{asked}\n{part}" for part in kept[1:])), cut_chars)


def _opening(messages: Sequence[str]) -> str:
    """The user's message, or messages, that the turn begins with."""
    first = next((at for at, message in enumerate(messages) if not message.startswith("User:")), len(messages))
    return "\n".join(messages[:first]) or messages[0]


def _pieces(message: str, room: int, count: Count) -> Iterator[_Piece]:
    tokens = count(message)
    if tokens <= room:
        yield _Piece(message, tokens)
        return
    label = _LABEL.match(message)
    again = _CONTINUED.format(label=label[0]) if label else _CONTINUED.format(label="").lstrip()
    label_tokens = count(again)
    most = max(int(room * PIECE_SHARE) - label_tokens, 1)
    for at, (text, counted) in enumerate(_divided(message, most, count)):
        yield _Piece(text, counted + label_tokens, again if at else "")


def _divided(text: str, most: int, count: Count) -> Iterator[tuple[str, int]]:
    """The text in stretches of at most ``most`` tokens, by halving it near its middle."""
    tokens = count(text)
    if tokens <= most or len(text) < 2:
        yield text, tokens
        return
    middle = _break_near_middle(text)
    yield from _divided(text[:middle], most, count)
    yield from _divided(text[middle:], most, count)


def _break_near_middle(text: str) -> int:
    """Behind the line break nearest to the middle, else behind a blank; the middle itself where neither is near."""
    middle = len(text) // 2
    quarter = max(middle // 2, 1)
    for mark in ("\n", " "):
        before = text.rfind(mark, middle - quarter, middle)
        after = text.find(mark, middle, middle + quarter)
        near = [at + 1 for at in (before, after) if at >= 0]
        if near:
            return min(near, key=lambda at: abs(at - middle))
    return middle


def _packed(pieces: Sequence[_Piece], room: int) -> Iterator[tuple[str, int]]:
    """Text and characters of the turn for each part: as many pieces as there is room for."""
    text = ""
    used = chars = 0
    for piece in pieces:
        if text and used + piece.tokens + 1 > room:
            yield text, chars
            text, used, chars = "", 0, 0
        if not text:
            text = piece.again + piece.text
        else:
            text += piece.text if piece.again else f"\n{piece.text}"
        used += piece.tokens + 1
        chars += len(piece.text)
    yield text, chars


def _within_limit(parts: Sequence[tuple[str, int]]) -> tuple[list[str], list[str], int]:
    """The first parts, the last ones, and the characters of those between that are too many."""
    over = max(len(parts) - MOST_PARTS, 0)
    head = int(MOST_PARTS * HEAD_SHARE) if over else len(parts)
    return (
        [text for text, _ in parts[:head]],
        [text for text, _ in parts[head + over :]],
        sum(chars for _, chars in parts[head : head + over]),
    )
