"""Values that a name gives away: ``DB_PASSWORD=…``, ``"apiKey": "…"``, ``the password is …``."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from memory_pipeline.redaction.naming import Promise, kind_of_name, promise
from memory_pipeline.redaction.plausible import is_key, is_password
from memory_pipeline.redaction.spans import Span

Found = Iterator[Span]
"""Spans of the readable view; ``value`` is what the view reads."""

RANK = 1
_NEAR = 48
_FAR = 400

_BEFORE = re.compile(rb"[\w.$-]*\Z")
_AFTER = re.compile(rb"[\w-]*(?:\.[\w-]+)*")
_END = rb"""[^\s"'`<>|,;&]"""
_ASSIGNED = re.compile(
    rb"""(?x)
    (?P<close>["'`\])}*]*) [ \t]*
    (?: :[ \t]*&?[A-Za-z][\w.\[\]<>?]*[ \t]*=(?!=)            # password: str = "x"
      | (?:string|str|String|\[\]byte)[ \t]*:?=
      | \((?=["'])
      | (?:=>|->|\xe2\x86\x92|:=|\?=|\|\|=|={1,3}|:{1,3}|>|\||,(?=[ \t]*["'])|\bis:?|\bist:?|\blautet:?|\bwas|\bwar)
    )
    [ \t>|*]* (?:\r?\n[ \t]+|\n(?=["']))? [({\[]* [ \t]* (?:[bBfFrRuU]{1,2}(?=["']))?
    """
)
_QUOTED = re.compile(rb"""(?P<q>["'`])(?P=q)*(?P<v>[^\r\n]*?)(?P=q)""")
_BARE = re.compile(rb"(?P<v>" + _END + rb"+)")
_WHOLE = re.compile(rb"""(?P<v>[^\s"'`]+)""")
_ENV_LINE = re.compile(rb"(?:^|[\r\n])[ \t+\d]*(?:-[ \t]*)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+|\$env:)?\Z")
_SIBLING = re.compile(
    rb"""(?x)["']?[\s,({]{0,40}(?:[\w-]{1,20}["']?\s*[=:]\s*[^\s,{}]{1,24}\s*,?\s*)?["']?
    (?:value|default|content|defaultValue)["']?\s*[:=]\s*(?:["'](?P<v>[^"'\r\n]+)["']|(?P<b>[^\s"',]+))"""
)
_XML_SIBLING = re.compile(rb"</[\w:]+>\s*<(?:value|string)>(?P<v>[^<\r\n]+)<")
_CELL = re.compile(rb"[ \t*`_]*\|[ \t*`]*(?P<v>[^|\s`]+)[ \t*`]*\|")
_SET = re.compile(rb"[ \t]*(?:=>?|:=|\.=)")
_ARGUMENT = re.compile(rb"""["',\s=]+(?P<v>[^\s"',]+)""")
_FILLER = (
    rb"(?:is|was|are|be|to|of|for|as|now|still|set|reads|the|a|an|my|our|your|new|old|user|root|admin|temporary|default|"
    rb"current|following|ist|war|lautet|f\xc3\xbcr|fuer|von|der|die|das|auf|vom|zum|neue[sr]?|jetzt|wie|folgt|mit|es|"
    rb"est|c'est|de|\d|del|la|el|with|in|on|jdoe|and|und)"
)
_PROSE = re.compile(
    rb"""(?x)["'`*)]*[ \t]*[:=]?[ \t]+(?:""" + _FILLER + rb"""[ \t:]+){0,4}["'`*(]*(?P<v>[^\s"'`<>|]+)"""
)
_LONG_PROSE = re.compile(
    rb"""(?x)(?:[ \t]+[A-Za-z@.'-]+){0,5}?[ \t]+(?:is|was|to|ist|lautet|reads|became|wurde|auf)
    (?:[ \t]+(?:re)?(?:set|changed|updated))?(?:[ \t]+to)?[ \t]*[:=]?[ \t]+
    ["'`*(]*(?P<v>[^\s"'`<>|]+)"""
)
_TURNED = re.compile(
    rb"""(?x)(?P<v>[^\s"'`<>|]+)["'`]?[ \t]+(?:as|is|als|ist|for)[ \t]+(?:(?:the|my|your|our|das|mein|dein|new)[ \t]+)+
    (?:\w+[ \t]+)?\Z"""
)
_SCHEME = re.compile(
    rb"(?i)(?:bearer|basic|token|apikey|api-key|digest|negotiate|[A-Za-z-]{3,16}(?:key|token)?)[ \t+]+"
)
_LOGIN_NAME = re.compile(rb"[\w.@+%-]{2,80}")
_TRAILING = b".,:;)]}>*_"


def trim(value: bytes) -> bytes:
    """Without the signs that end a sentence or close what was opened before the value."""
    while value and value[-1] in _TRAILING:
        if value[-1:] in b")]}" and value.count(value[-1:].translate(_OPENING)) >= value.count(value[-1:]):
            break
        value = value[:-1]
    return value


_OPENING = bytes.maketrans(b")]}", b"([{")


def span_of(start: int, value: bytes, kind: str) -> Span:
    return Span(start, start + len(value), kind, value, RANK)


def named(data: bytes, start: int, end: int) -> Found:
    """A name such as ``DB_PASSWORD`` or ``apiKey``, and what it is given."""
    before = _BEFORE.search(data, max(0, start - _NEAR), start)
    first = before.start() if before else start
    after = _AFTER.match(data, end, end + _NEAR)
    last = after.end() if after else end
    name = data[first:last].decode("utf-8", "replace").strip(".-$_")
    says = promise(name)
    if says == Promise.NOTHING:
        return
    if data[first : first + 1] == b"$" and not _SET.match(data, last):
        return  # the value of a variable, not a value given to it
    kind = kind_of_name(name)
    for value_start, value, sure in _given(data, first, last, says):
        if _fits(value, says, name, sure=sure):
            yield span_of(value_start, value, kind)
            return


def _given(data: bytes, first: int, last: int, says: Promise) -> Iterator[tuple[int, bytes, bool]]:
    """(where, what, whether it is assigned) of what may be the value of the name at ``first`` to ``last``."""
    limit = last + _FAR
    sign = _ASSIGNED.match(data, last, limit)
    if sign:
        yield from _assigned(data, first, last, sign, says)
    if cell := _CELL.match(data, last, limit):
        yield cell.start("v"), cell["v"], True
    for pattern in (_SIBLING, _XML_SIBLING):
        if sibling := pattern.match(data, last, limit):
            group = "v" if sibling["v"] is not None else "b"
            yield sibling.start(group), sibling[group], True
    if data[max(0, first - 2) : first].strip(b" \t\r\n'\"").endswith(b"-") or data[first : first + 1] == b"-":
        argument = _ARGUMENT.match(data, last, limit)
        if argument:
            yield argument.start("v"), argument["v"], True
    if says != Promise.PASSWORD and (says != Promise.SURE_KEY or sign is not None):
        return
    for pattern in (_PROSE, _LONG_PROSE):
        if prose := pattern.match(data, last, last + 120):
            yield prose.start("v"), trim(prose["v"]), False
    if turned := _TURNED.search(data, max(0, first - 80), first):
        yield turned.start("v"), turned["v"], False


def _assigned(
    data: bytes, first: int, last: int, sign: re.Match[bytes], says: Promise
) -> Iterator[tuple[int, bytes, bool]]:
    limit = last + _FAR
    scheme_before = _SCHEME.match(data, sign.end(), limit) if says <= Promise.SURE_KEY else None
    for place in [sign.end()] if scheme_before is None else [scheme_before.end(), sign.end()]:
        if quoted := _QUOTED.match(data, place, place + _FAR):
            inner = quoted.start("v")
            if scheme_inside := _SCHEME.match(data, inner, quoted.end("v")):
                yield scheme_inside.end(), data[scheme_inside.end() : quoted.end("v")].strip(), True
            yield inner, quoted["v"].rstrip(), True
            # A quote that is never closed on its line, or one that ends elsewhere: the first run of signs counts.
            if cut := _BARE.match(data, inner, limit):
                yield inner, trim(cut["v"]), True
        else:
            in_env = data[last : last + 1] == b"=" and _ENV_LINE.search(data, max(0, first - 24), first)
            if bare := (_WHOLE if in_env else _BARE).match(data, place, place + 4_096):
                spaced = data[place - 1 : place].isspace() and b"=" not in sign[0] and b":" not in sign[0]
                yield place, trim(bare["v"]), not spaced


def _fits(value: bytes, says: Promise, name: str, *, sure: bool) -> bool:
    if says == Promise.PASSWORD:
        return is_password(value, sure=sure) or (sure and is_key(value, shortest=12, hex_too=True, uuid_too=True))
    if says == Promise.SURE_KEY:
        return is_key(value, shortest=16 if sure else 20, hex_too=True, uuid_too="key" in name.lower()) or is_basic(
            value
        )
    return is_key(value, shortest=20, hex_too="sig" in name.lower()) or ("auth" in name.lower() and is_basic(value))


def pass_word(data: bytes, start: int, end: int) -> Found:
    """``pass hunter2x!`` in a sentence."""
    if data[start - 1 : start].isalnum():
        return
    if prose := _PROSE.match(data, end, end + 120):
        value = trim(prose["v"])
        if is_password(value, sure=False):
            yield span_of(prose.start("v"), value, "password")


def is_basic(value: bytes) -> bool:
    try:
        text = base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    name, colon, password = text.partition(b":")
    return (
        bool(colon and len(password) > 3 and _LOGIN_NAME.fullmatch(name)) and password.replace(b"\xc3", b"").isascii()
    )
