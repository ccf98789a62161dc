"""What a redacted text is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without secrets, how many were taken out of it, and how many of each kind."""

    text: str
    count: int
    kinds: Mapping[str, int] = field(default_factory=dict, hash=False)
    recognised: bool = False
    """Of a session's text: whether a rule found something in it, and not only what was known from elsewhere."""
