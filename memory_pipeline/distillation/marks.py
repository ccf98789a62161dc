"""Named things and long words: what a sentence is about, found without knowing its language."""

from __future__ import annotations

import re
from collections.abc import Iterator

_REDACTED = re.compile(r"\[redacted:[a-z0-9:-]{1,80}\]")
_CODE = re.compile(r"`([^`\n]{1,200})`")
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff"
_HIRAGANA = r"\u3041-\u309f"
_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HANGUL = r"\uac00-\ud7a3"
_WIDE_SIGNS = r"\u3001-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_OTHER_WORDS = re.compile(rf"[{_HAN}{_KATAKANA}{_HIRAGANA}{_SOUTH_EAST_ASIAN}{_HANGUL}]")
_TOKEN = re.compile(
    rf"[^\s{_HAN}{_KATAKANA}{_HIRAGANA}{_SOUTH_EAST_ASIAN}{_WIDE_SIGNS}]+"
    rf"|[{_HAN}{_KATAKANA}{_HIRAGANA}{_SOUTH_EAST_ASIAN}{_WIDE_SIGNS}]+"
)
"""Scripts without spaces: a Latin name in them ends where they go on."""
_WORD = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0980-\u0dff]){4,40}")
_PIECE = re.compile(
    rf"""(?P<han>[{_HAN}]{{2,200}}) | (?P<kana>[{_KATAKANA}]{{2,40}}) | (?P<asian>[{_SOUTH_EAST_ASIAN}]{{4,200}})
      | (?P<hangul>[{_HANGUL}]{{2,40}})
      | (?P<word>(?:(?![{_HAN}{_KATAKANA}{_HIRAGANA}{_SOUTH_EAST_ASIAN}{_HANGUL}])[^\W\d_]){{4,40}})""",
    re.VERBOSE,
)
_HAN_GLUE = re.compile(r"[的了是在和与把被给就都也不没很这那有到从对及或每个我你他它们用将已再又还只能会要让请]")
"""Signs of grammar: Chinese words end there at the latest."""
_ASIAN_LETTERS = 4
"""Letters of Thai, Khmer and the like that stand for one word, since their words don't show either."""

_EDGE = ".,;:!?…\"'“”„‘’«»‹›¡¿()[]{}*~،؛؟।"
_SIGN = re.compile(r"[\d/_=@#\\<>]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "z.b", "d.h", "u.a"})
_LONGEST = 100
"""A longer token is a blob (base64, a minified line), not a name."""
_PASSING = re.compile(r"[-+~]?\d{1,20}(?:[.,:]\d{1,9})?[%x]?|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}", re.IGNORECASE)


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
        inside = token[-1] not in ".!?:;…。！？：；"
    return found


def is_passing(name: str) -> bool:
    """Whether a name is a mere count, amount, time or commit hash: told once, seldom asked for again."""
    return bool(_PASSING.fullmatch(name))


def long_words(text: str) -> frozenset[str]:
    """The words of more than three letters, lower case; of scripts without spaces what comes nearest."""
    if not _OTHER_WORDS.search(text):
        return frozenset(word.lower() for word in _WORD.findall(text))
    return frozenset(_pieces(text))


def long_words_in_order(text: str) -> list[str]:
    """The same as whole words: Chinese and Japanese ones as they stand between signs of grammar."""
    words: list[str] = []
    for piece in _PIECE.finditer(text):
        words += _HAN_GLUE.split(piece[0]) if piece.lastgroup == "han" else [piece[0].lower()]
    return [word for word in words if len(word) > 1]


def _pieces(text: str) -> Iterator[str]:
    """Pairs of signs where words don't show (as search engines take Chinese), else words."""
    for piece in _PIECE.finditer(text):
        whole = piece[0]
        if piece.lastgroup == "han":
            yield from (run[at : at + 2] for run in _HAN_GLUE.split(whole) for at in range(len(run) - 1))
        elif piece.lastgroup == "asian":
            yield from (whole[at : at + _ASIAN_LETTERS] for at in range(0, len(whole) - 1, _ASIAN_LETTERS))
        else:
            yield whole.lower()


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
    if not _LETTER_OR_DIGIT.search(token):
        return False
    if _SIGN.search(token) or token[0] == "-":
        return True
    if ("." in token or ":" in token) and token.lower() not in _ABBREVIATIONS:
        return True
    if token.startswith(("I'", "I’")):
        return False
    if not token[1:].islower() and any(map(str.isupper, token[1:])):
        return True
    return inside and len(token) > 1 and token[0].isupper()
