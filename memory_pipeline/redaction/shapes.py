"""What speaks for itself, whatever stands around it: private keys, recovery codes, long random runs."""

from __future__ import annotations

import re

from memory_pipeline.redaction.named import Found, span_of
from memory_pipeline.redaction.packing import unpack
from memory_pipeline.redaction.plausible import changes, classes_of, entropy, is_hex, is_placeholder, looks_random
from memory_pipeline.redaction.spans import Span

_CODES = re.compile(rb"[\s\"'\[:,*-]*(?:\d{1,2}[.)]\s+)?(?P<v>[A-Za-z0-9]{4,10}(?:[- ]?[A-Za-z0-9]{4,10}){0,5})")
_CODE_ITEM = re.compile(rb"[A-Za-z0-9]{3,10}(?:-[A-Za-z0-9]{3,10}){0,5}")
_WORD_LIST = re.compile(rb"[\s\"':=*]{1,6}(?P<v>(?:[a-z]{3,8}[ ,]+){11,23}[a-z]{3,8})\b")


def codes(data: bytes, _start: int, end: int) -> Found:
    """Recovery codes after their title, and the twelve or more words of a seed phrase."""
    if words := _WORD_LIST.match(data, end, end + 300):
        yield span_of(words.start("v"), words["v"], "seed-phrase")
        return
    position, misses = end, 0
    for item in _CODE_ITEM.finditer(data, end, end + 600):
        value = item[0]
        digits = sum(48 <= c < 58 for c in value)
        if digits >= 2 and len(value) >= 8 and not re.fullmatch(rb"\d{4}-\d\d-\d\d", value):
            yield span_of(item.start(), value, "recovery-code")
            misses = 0
        else:
            misses += 1
            if misses > 3 or item.start() - position > 60:
                return
        position = item.end()


_PEM_HEAD = re.compile(rb"-----BEGIN[ A-Z0-9_-]*PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(
    rb"(?>[\s\\,\"'|>*#]+|\d{1,6}\t|[A-Za-z-]+:[ ][^\r\n]*|[+]?[A-Za-z0-9+/=]{16,}|[+](?=\s))*+"
    rb"(?:[A-Za-z0-9+/=]+(?=\s*-----END))?"
)
_PEM_LINE = re.compile(rb"[A-Za-z0-9+/=]{16,}")
PEM_RANK = 3


def private_key(data: bytes, start: int, end: int) -> Found:
    """The body between the lines of a PEM block, whether or not it ends; each line of it also by itself."""
    head = _PEM_HEAD.match(data, start, end + 64)
    if head is None:
        return
    body = _PEM_BODY.match(data, head.end())
    if body is None:
        return
    lines = list(_PEM_LINE.finditer(data, head.end(), body.end()))
    if not lines or sum(len(line[0]) for line in lines) < 40 or is_placeholder(lines[0][0][:24]):
        return
    tail = re.compile(rb"[A-Za-z0-9+/=]{0,15}(?=\s*-----END)").search(data, lines[-1].end(), lines[-1].end() + 80)
    last = tail.end() if tail and tail[0] else lines[-1].end()
    yield Span(lines[0].start(), last, "private-key", b"".join(line[0] for line in lines), PEM_RANK)
    for line in lines[1:]:
        if len(line[0]) >= 40:
            yield Span(line.start(), line.end(), "private-key", line[0], 0)


def bot(data: bytes, start: int, end: int) -> Found:
    """``number:key``, as bots of messengers have it."""
    value = data[start:end]
    if looks_random(value[value.index(b":") + 1 :]) and not data[start - 1 : start].isalnum():
        yield span_of(start, value, "bot-token")


def prefixed(data: bytes, start: int, end: int) -> Found:
    """``acme-key-`` and what looks made by chance, hex digits too."""
    value = data[start:end]
    if (
        data[start - 1 : start] in (b"/", b"@")
        or is_placeholder(value)
        or _HASH_BEFORE.search(data, max(0, start - 40), start)
    ):
        return
    split = _PREFIX.match(value.replace(b".", b"_"))
    if split and not _IDS.match(re.split(rb"[_.-]", value)[0].lower()):
        rest = split["r"]
        if (is_hex(rest) and len(rest) >= 32) or (len(rest) >= 20 and looks_random(rest) and _no_words(rest)):
            yield Span(start, end, "token", value, 0)


_HASH_BEFORE = re.compile(
    rb"(?i)(?:sha-?\d*|md5|hash|digest|checksum|integrity|etag|fingerprint|commit|revision|\brev|nonce|signature_?|blob"
    rb"|tree|parent|uuid|guid|cid|ssh-\w+|public[ _-]?key|thought|encrypted|base64,?|content-?id|boundary|message-id"
    rb"|trace|span)[\w-]*"
    rb"[\"'\])]*[ \t]*(?:[:=\-,(]|\bis\b)*[ \t]*(?:[\"'(]|\?[bB]\?)*\Z"
)
_IDS = re.compile(
    rb"^(?:toolu|call|msg|req|resp|rs|fc|ctc|chatcmpl|cmpl|run|thread|asst|file|item|ws|gen|evt|cus|step|tool|cache|build"
    rb"|srvtoolu|id|uid|img|image|doc|node|chunk|index|vendor|main|app|style|tmp|temp|snap|session|job|task|batch|trace|span"
    rb"|sha\d*|md5|rev)$"
)
_KEY_PREFIX = re.compile(
    rb"(?i)(?:^|[_.-])(?:key|sk|pat|tok|token|secret|live|prod|api|pk|rk|ak|auth|cred|apikey|access)(?:$|[_.\d-])"
)
_PIECE = re.compile(rb"[A-Za-z0-9_-]+")
_DOTTED = re.compile(rb"(?:[A-Za-z][\w-]*\.)+\Z")
_RUN_SIGNS = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/_-")


def random_run(data: bytes, start: int, end: int) -> Found:
    """A key that speaks for itself: a prefix with a long random rest, or 32 random signs and more."""
    while end > start and data[end - 1] not in _RUN_SIGNS:
        end -= 1
    if not 20 <= end - start <= 300 or _is_block(data, start, end):
        return
    run = data[start:end]
    if len(run) >= 64 and b"/" in run and b"+" in run:
        return  # base64 of something longer
    before = data[max(0, start - 40) : start]
    webhook = b"webhook" in data[max(0, start - 200) : end]
    for piece in _PIECE.finditer(data, start, end):
        value = piece[0]
        if len(value) < 20 or is_hex(value) or data[piece.end() : piece.end() + 1] in (b"(", b"=", b"@"):
            continue  # a call, a name that is assigned to, or the padding of base64
        inside = (
            piece.start() > start
            or before[-1:] in (b"/", b"\\", b"@", b"~")
            or data[piece.end() : piece.end() + 1] == b"/"
        )
        if webhook and len(value) >= 24:
            found = looks_random(value)
        else:
            dotted = _DOTTED.search(before)
            found = _speaks(value, dotted[0] if dotted else b"", in_path=inside)
        if found and not is_placeholder(value) and not _HASH_BEFORE.search(before):
            yield Span(piece.start(), piece.end(), "token", value, 0)


_PREFIX = re.compile(
    rb"^(?P<p>[A-Za-z][A-Za-z0-9]{0,11}[_-](?:(?:[a-z]{1,10}|[A-Z]{1,10}|[A-Za-z]?\d{1,2})[_-]){0,3})(?P<r>[A-Za-z0-9_-]{16,})$"
)


def _speaks(value: bytes, dotted: bytes, *, in_path: bool) -> bool:
    split = _PREFIX.match(value)
    prefix, rest = (split["p"], split["r"]) if split else (b"", value)
    if dotted and not prefix:
        prefix = dotted
    if prefix and not in_path:
        first = re.split(rb"[_.-]", prefix)[0].lower()
        if _IDS.match(first):
            return False
        strong = _KEY_PREFIX.search(prefix) is not None
        if is_hex(rest):
            return strong and len(rest) >= 32
        if len(rest) >= (16 if strong else 20) and _no_words(rest) and looks_random(rest) and not rest.isdigit():
            return len(classes_of(rest)) == 3 or strong or len(rest) >= 28
    if in_path or len(value) < 32 or is_hex(value):
        return False
    if len(classes_of(value)) < 3 or changes(value) < 0.45 or b"-" in value or entropy(value) < 4:
        return False
    return _no_words(value) and unpack(value, 0, len(value)) is None


_LONG_WORD = re.compile(rb"[A-Z]?[a-z]{8,}|[A-Z]{9,}")


def _no_words(value: bytes) -> bool:
    """Chance hardly ever puts nine letters of one case in a row; with one case only, it does."""
    if len(classes_of(value)) < 3:
        return True
    return _LONG_WORD.search(value) is None


_BLOCK_BEFORE = re.compile(rb"[A-Za-z0-9+/=_-]{40}[\"',\\ ]*[\r\n]+[ \t\"'b]*\Z")
_BLOCK_AFTER = re.compile(rb"[=\"',\\ ]*[\r\n]+[ \t\"'b]*[A-Za-z0-9+/=_-]{40}")


def _is_block(data: bytes, start: int, end: int) -> bool:
    """Whether this is a line of a block of base64: the line before or after is a long run too."""
    if end - start < 40:
        return False
    return bool(_BLOCK_AFTER.match(data, end) or _BLOCK_BEFORE.search(data, max(0, start - 100), start))
