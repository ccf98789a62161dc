"""Where secrets stand in a text, and how the places become tokens.

Everything here works on UTF-8 bytes and knows nothing of rules.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

TOKEN = re.compile(rb"\[redacted:[a-z0-9-]+:[0-9a-f]{6}\]")


class Span(NamedTuple):
    """One finding: bytes ``start`` to ``end`` go; ``value`` is the secret itself, without escapes, wraps and packing.

    Of findings that overlap, the one with the highest ``rank`` names the secret.
    """

    start: int
    end: int
    kind: str
    value: bytes
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Secret:
    """Overlapping findings as one: bytes ``start`` to ``end`` go. ``values[0]`` names it, the others belong to it."""

    start: int
    end: int
    kind: str
    values: tuple[bytes, ...]


Name = Callable[[Secret], str]
"""The token that stands for a secret."""


def token(key: bytes, kind: str, value: bytes) -> str:
    """``[redacted:kind:xxxxxx]``; x are the first 6 hex digits of an HMAC-SHA256 of ``value`` with ``key``."""
    return f"[redacted:{kind}:{hmac.new(key, value, hashlib.sha256).hexdigest()[:6]}]"


def secrets_of(data: bytes, spans: Iterable[Span]) -> list[Secret]:
    """The findings in order, overlapping ones merged; what touches a token is done already and left out."""
    ordered = sorted(spans)
    if not ordered:
        return []
    starts, ends = [], []
    for found in TOKEN.finditer(data):
        starts.append(found.start())
        ends.append(found.end())
    groups: list[list[Span]] = []
    end = -1
    for span in ordered:
        next_token = bisect_right(ends, span.start)
        if span.end <= span.start or (next_token < len(starts) and starts[next_token] < span.end):
            continue
        if span.start < end:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span.end)
    return [_merged(group) for group in groups]


def _merged(group: Sequence[Span]) -> Secret:
    best = sorted(group, key=lambda span: (-span.rank, span.start - span.end, span.start, span.kind))
    values = tuple(dict.fromkeys(span.value for span in best))
    return Secret(min(span.start for span in group), max(span.end for span in group), best[0].kind, values)


def rewrite(data: bytes, secrets: Sequence[Secret], name: Name) -> tuple[bytes, Counter[str]]:
    """``data`` with a token for each secret, and how many of each kind there were."""
    pieces: list[bytes] = []
    kinds: Counter[str] = Counter()
    position = 0
    for secret in secrets:
        written = name(secret)
        kinds[written.split(":")[1]] += 1
        pieces += [data[position : secret.start], written.encode()]
        position = secret.end
    return b"".join([*pieces, data[position:]]), kinds
