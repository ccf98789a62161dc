"""Named things and long words: what a sentence is about, found without knowing its language."""

from __future__ import annotations

import re

_REDACTED = re.compile(r"\[redacted:[a-z0-9:-]{1,80}\]")
_CODE = re.compile(r"`([^`\n]{1,200})`")
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]{4,40}")
_EDGE = ".,;:!?…\"'“”„‘’«»()[]{}*~"
_SIGNS = frozenset("/_=@#\\<>")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "z.b", "d.h", "u.a"})
_LONGEST = 100
"""A longer token is a blob (base64, a minified line), not a name."""


def named_things(text: str) -> dict[str, str]:
    """Names in ``text``, in order of appearance: lower case → as written.

    Numbers, paths, flags, identifiers, versions, `code` and capitalised words inside a sentence; never what stands for
    a secret.
    """
    found: dict[str, str] = {}
    inside = False
    for token in _tokens(_REDACTED.sub("", text)):
        name = token[1:-1].strip() if token[0] == "`" else _bare(token)
        if name and len(name) <= _LONGEST and (token[0] == "`" or _is_name(name, inside)):
            found.setdefault(name.lower(), name)
        inside = token[-1] not in ".!?:;…"
    return found


def long_words(text: str) -> frozenset[str]:
    """The words of more than three letters, lower case."""
    return frozenset(long_words_in_order(text))


def long_words_in_order(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _tokens(text: str) -> list[str]:
    """`Code` in one piece with its backticks, everything else split at white space."""
    tokens: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        tokens += _TOKEN.findall(text[end : code.start()])
        tokens.append(code[0])
        end = code.end()
    return tokens + _TOKEN.findall(text[end:])


def _bare(token: str) -> str:
    bare = token.strip(_EDGE)
    return bare.removesuffix("'s").removesuffix("’s")


def _is_name(token: str, inside: bool) -> bool:
    if not any(map(str.isalnum, token)):
        return False
    if any(c.isdigit() or c in _SIGNS for c in token):
        return True
    if token[0] == "-":
        return True
    if any(c in ".:" for c in token) and token.lower() not in _ABBREVIATIONS:
        return True
    if token.startswith(("I'", "I’")):
        return False
    if any(map(str.isupper, token[1:])):
        return True
    return inside and len(token) > 1 and token[0].isupper()
