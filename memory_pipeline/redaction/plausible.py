"""Whether a value may be a secret: not a placeholder, not code, not a name, odd enough for where it stands."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

_PLACEHOLDER = re.compile(
    rb"""(?ix)
    ^[<\[{(%$@#].*[>\]})%$@]$ | ^\$ | ^%\w+% | \$\{ | \{\{ | \}\} | \$\( | ^@\w+@$ | ^<
    | ^(.)\1*$ | [*x.\#-]{4} | \.\.\. | \xe2\x80[\xa2\xa6]
    | (?:^|[^a-z])(?:your|my|some|insert|replace|enter|put)[-_ ]?
        (?:own|new|real|super|very|long|random|secure|db|database|github|api|secret|token|key|pass|here|me|with|app|user
        |bot|client|account)
    | change[-_ ]?(?:me|it|this|in[-_ ]?prod) | place[-_ ]?holder
    | (?:^|[^a-z])(?:todo|fixme|dummy|fake|redacted|masked|hidden
        |removed|omitted|sanitized|censored|example|sample)(?:[^a-z]|$)
    | example|^sample|redacted | ^(?:null|none|nil|undefined|true|false|empty|unset|n/a)$
    | process\.env | os\.environ | getenv | secrets\. | ^vault[:/] | ^env[:.(] | ^arn:
    | abcdefgh | abc123|123abc
    | 12345678(?:$|[^0-9a-z]) | 0123456789 | deadbeef | foobar|foo[-_]?bar | ^(?:foo|bar|baz|qux)\d*$
    | ^test(?:ing)?[-_]?\d*$ | ^pass(?:word|wd)?[-_]?\d{0,3}[!?]?$ | ^secret[-_]?\d{0,3}$ | ^p@ssw0rd$
    """
)
_CODE = re.compile(
    rb"""(?x)
    \w[(\[] | [)\]]$ | ^[([{] | ^\w+(?:\.\w+)+\(? $ | ::|->|=>|==(?!=*$)|!=|&&|\|\||<=
    | ^(?:self|this|cls|args|config|settings|options|opts|ctx|req|request|env|data|params|props)\b[.\[]
    | ^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$ | ^(?:new|await|return|typeof|lambda|not|async)\b
    | ^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$ | ^_*[a-z][a-z0-9]*(?:_[a-z0-9]+)+$ | ^[a-z_][a-z0-9_]*=[A-Za-z_.]*$
    | [{}] | ^--?[A-Za-z] | ^/\w[\w-]*/ | ^(?:\.{0,2}/|~/|[A-Za-z]:[\\/]) | ^\w+:// | ^[\w.+-]+@[\w-]+\.\w+$ | ^\#
    """
)
_WORDS = re.compile(r"^[^\W\d_]+(?:[-_. /:'’+&@!?,]+[^\W\d_]+)*[-_.:!?,]*$")
"""Letters only, in words joined by signs."""
_CAMEL = re.compile(rb"^[a-z]*(?:[A-Z][a-z]+|[A-Z]{2,})*[A-Z]?\d{0,2}$")
_NAME = re.compile(rb"^[A-Z]*[a-z]+(?:[^A-Za-z]*[A-Z]+[a-z]+)*$")
_NAMED_NUMBER = re.compile(
    rb"""(?ix)
    ^v?\d+(?:[.:,/-]\d+)+\w{0,6}$ | ^\d+(?:[.,]\d+)?\s?
        (?:%|[kmgt]i?b?|ms|[smhdw]|px|em|rem|pt|hz|bits?|bytes?|chars?|x\d+)$
    | ^(?:sha|md|utf|base|oauth|hmac|aes|rsa|ed|hs|rs|es|ps|ipv|http|tls|ssl|win
        |x|h|rfc|iso|cp|latin|python|py|v|p|s|web|log|id|step|part|line|page|item|user|admin|test|key|token|room|area
        |ssha|pbkdf|argon|scram|ntlm|s|k|ec|ecc|curve|crc|uuid|u|i|f|int|uint|float|char|varchar|http/)[-_]?\d+(?:[-_/]?\d+)*$
    | ^\d{4}-\d\d-\d\d | ^\d\d?:\d\d
    """
)
_UUID = re.compile(rb"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_HEX = re.compile(rb"^(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)$")
_KNOWN_PUBLIC = re.compile(
    rb"^(?:AAAA[BCE][0-9A-Za-z]|ssh-|MII[A-Z]|data:|SHA256:|sha\d+[-:]|md5[-:]|0x|urn:|did:|spiffe:)"
)


def is_placeholder(value: bytes) -> bool:
    return _PLACEHOLDER.search(value) is not None


def is_code(value: bytes) -> bool:
    """An expression, a path, an address, an option: what stands where a value would, but names it only."""
    return _CODE.search(value) is not None


def is_hex(value: bytes) -> bool:
    return _HEX.match(value) is not None


def is_uuid(value: bytes) -> bool:
    return _UUID.match(value) is not None


def is_password(value: bytes, *, sure: bool) -> bool:
    """Whether somebody may have chosen this as a password.

    ``sure``: it is assigned (``PASSWORD=…``); in prose more is asked for.
    """
    if not 6 <= len(value) <= 256 or is_placeholder(value) or is_code(value) or _NAMED_NUMBER.match(value):
        return False
    text = value.decode("utf-8", "replace")
    if any(c.isspace() for c in text):
        return sure and _is_phrase(text)
    if _WORDS.match(text) or (_CAMEL.match(value) and not (sure and value[-2:].isdigit())):
        return False
    digits = sum(c.isdigit() for c in text)
    letters = sum(c.isalpha() for c in text)
    signs = len(text) - digits - letters
    if not letters:
        return sure and digits >= 6 and signs <= digits
    if is_uuid(value) or (is_hex(value) and len(value) >= 32 and not sure):
        return False
    if sure:
        return digits > 0 or (signs > 0 and len(text) >= 8)
    mixed = any(c.isupper() for c in text) and any(c.islower() for c in text)
    if re.match(r"^[A-Z]+[-_]?\d+$", text):
        return False
    return digits > 0 and (mixed or signs > 0 or 2 <= digits < len(text) - 1) and len(text) >= (7 if mixed else 8)


def _is_phrase(text: str) -> bool:
    words = text.split()
    plain = sum(re.fullmatch(r"[A-Za-z][a-z']*[.,:]?", word) is not None for word in words)
    return len(words) <= 4 and plain <= 1 and any(c.isdigit() for c in text) and len(text) >= 10


def entropy(value: bytes) -> float:
    """Bits per byte, by how often each byte stands in ``value``."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def changes(value: bytes) -> float:
    """How often the class of the sign (small letter, capital, digit) changes from one letter or digit to the next.

    About .6 in random letters and digits, .4 without capitals, below .3 in names.
    """
    classes = bytes(_CLASS[c] for c in value if _CLASS[c])
    if len(classes) < 2:
        return 0.0
    return sum(a != b for a, b in pairwise(classes)) / (len(classes) - 1)


_CLASS = [0] * 256
for _number, _signs in enumerate((b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"), 1):
    for _sign in _signs:
        _CLASS[_sign] = _number


def classes_of(value: bytes) -> set[int]:
    """1 small letters, 2 capitals, 3 digits."""
    return {_CLASS[c] for c in value} - {0}


def is_key(value: bytes, *, shortest: int, hex_too: bool, uuid_too: bool = False) -> bool:
    """Whether this was made by chance: a key, a token. ``hex_too``: the words around are so strong that hex counts."""
    if not shortest <= len(value) <= 4_096 or _KNOWN_PUBLIC.match(value):
        return False
    if is_placeholder(value) or is_code(value) or not re.fullmatch(rb"[\x21-\x7e]+", value):
        return False
    if is_uuid(value):
        return uuid_too
    if is_hex(value):
        return hex_too and len(value) >= 24 and entropy(value) > 2.5 and not value.isdigit()
    return looks_random(value)


def looks_random(value: bytes) -> bool:
    classes, rate = classes_of(value), changes(value)
    if 3 not in classes:
        return (
            not _NAME.match(value) and len(classes) == 2 and len(value) >= 20 and rate >= 0.36 and entropy(value) >= 3.5
        )
    digits = sum(_CLASS[c] == 3 for c in value)
    if len(classes) == 3:
        return digits >= 2 and rate >= 0.32 and entropy(value) >= 3.0
    return len(classes) == 2 and digits >= 3 and rate >= 0.22 and entropy(value) >= 3.0
