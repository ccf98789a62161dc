"""Text made fit for stores and people: no control signs, no colour codes, no binaries, no more than a cap."""

from __future__ import annotations

import binascii
import hashlib
import re

_DIRTY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_BREAK = re.compile(r"\r\n|[\r\x0b\x0c]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# The title sequence is bounded and must end: an escape without an end must not swallow the text behind it.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
_BLOB = re.compile(r"blob:sha256:([0-9a-f]{12})")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)[\w;=.-]*;base64,([A-Za-z0-9+/=_-]{200,})")


def clean(text: str) -> str:
    """Without NUL, control signs and ANSI sequences; other line breaks as LF; lone surrogates as U+FFFD.

    Only CR, VT and FF count as other line breaks: U+2028 and its like, and U+0085, stay.
    """
    if not _DIRTY.search(text):
        return text
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _DIRTY.sub("", _BREAK.sub("\n", _ANSI.sub("", text)))


def placeholder(kind: str, mime: str, data: str) -> str:
    """What stands for base64 ``data``: ``[image image/png, 12,345 bytes, sha256 0123456789ab]``.

    omp keeps large ones in files of their own and writes ``blob:sha256:<hex>`` here, which tells no size.
    """
    if blob := _BLOB.match(data):
        return f"[{kind} {mime}, sha256 {blob[1]}]"
    try:
        raw = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        raw = data.encode("utf-8", "surrogatepass")
    return f"[{kind} {mime}, {len(raw):,} bytes, sha256 {hashlib.sha256(raw).hexdigest()[:12]}]"


def without_data_urls(text: str) -> str:
    """The text with base64 ``data:`` URLs as placeholders."""
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda match: placeholder("data", match[1], match[2]), text)


def shorten(text: str, head: int, tail: int, *, left_out: int = 0) -> tuple[str, int]:
    """The first ``head`` and last ``tail`` characters with the cut stated between, and how many are left out.

    ``left_out``: characters that are missing in the middle of ``text`` already.
    """
    if len(text) <= head + tail:
        return text, left_out
    left_out += len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[len(text) - tail :]}", left_out
