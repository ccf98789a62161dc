"""What the user adds to the rules: patterns of their own, and values that are no secrets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.errors import SettingsError
from memory_pipeline.redaction.spans import Span

_RANK = 4
"""Above all rules: who writes a pattern also says what it is called."""

_NAMED = re.compile(r"(?P<name>[a-z0-9][a-z0-9_-]{0,39}):\s+(?P<pattern>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A secret of the user's own: what its first group matches, or all of it."""

    kind: str
    regex: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Allowed:
    """Values that stay: these, and those that one of the expressions matches from end to end."""

    values: frozenset[str] = frozenset()
    regexes: tuple[re.Pattern[str], ...] = ()

    def __contains__(self, value: bytes) -> bool:
        text = value.decode("utf-8", "replace")
        return text in self.values or any(regex.fullmatch(text) for regex in self.regexes)


@dataclass(frozen=True, slots=True)
class Custom:
    """The user's patterns and exceptions. ``version`` is empty where there are none, and changes with them."""

    patterns: Sequence[Pattern] = ()
    allowed: Allowed = Allowed()

    @property
    def version(self) -> str:
        said = [f"{pattern.kind}: {pattern.regex.pattern}" for pattern in self.patterns]
        said += [*sorted(self.allowed.values), *(f"/{regex.pattern}/" for regex in self.allowed.regexes)]
        return hashlib.sha256("\n".join(said).encode()).hexdigest()[:8] if said else ""

    def apply(self, data: bytes, spans: Sequence[Span]) -> list[Span]:
        """``spans`` with what the patterns find in ``data`` and without what is allowed."""
        found = list(spans)
        if self.patterns:
            text = data.decode("utf-8", "surrogatepass")
            for pattern in self.patterns:
                for match in pattern.regex.finditer(text):
                    found.append(_span(text, match, pattern.kind))
        if self.allowed.values or self.allowed.regexes:
            found = [s for s in found if s.value not in self.allowed and data[s.start : s.end] not in self.allowed]
        return found


def load_custom(patterns: Path | None, allow: Path | None) -> Custom:
    """What the files say: a pattern or a value a line, ``#`` starts a comment.

    Raises SettingsError, naming file and line, where a file cannot be read or an expression is none.
    """
    values: set[str] = set()
    regexes: list[re.Pattern[str]] = []
    for number, line in _lines(allow, "MEMORY_REDACT_ALLOW"):
        if len(line) > 2 and line.startswith("/") and line.endswith("/"):
            regexes.append(_compiled(line[1:-1], allow, number))
        else:
            values.add(line)
    found = []
    for number, line in _lines(patterns, "MEMORY_REDACT_PATTERNS"):
        named = _NAMED.fullmatch(line)
        kind = re.sub(r"[^a-z0-9]+", "-", named["name"].lower()).strip("-") if named else "custom"
        regex = _compiled(named["pattern"] if named else line, patterns, number)
        if regex.search("") is not None:
            raise SettingsError(
                f"{patterns}, line {number}: the pattern matches an empty text; make it match something."
            )
        found.append(Pattern(kind or "custom", regex))
    return Custom(tuple(found), Allowed(frozenset(values), tuple(regexes)))


def _span(text: str, match: re.Match[str], kind: str) -> Span:
    group = 1 if match.re.groups and match[1] is not None else 0
    start = len(text[: match.start(group)].encode("utf-8", "surrogatepass"))
    value = match[group].encode("utf-8", "surrogatepass")
    return Span(start, start + len(value), kind, value, _RANK)


def _lines(path: Path | None, variable: str) -> list[tuple[int, str]]:
    if path is None:
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{variable}: {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{variable}: {path} is not UTF-8 text; save it as UTF-8.") from None
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def _compiled(pattern: str, path: Path | None, number: int) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise SettingsError(f"{path}, line {number}: {pattern!r} is no regular expression: {error.msg}.") from None
