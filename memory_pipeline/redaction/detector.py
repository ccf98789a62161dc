"""What counts as a secret: one scan of the readable view, one of the joined lines, one of what was packed.

Only the scanner of the library is used; its validator and revoker talk to the network.
"""

from __future__ import annotations

import hashlib
import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.redaction.contexts import READERS
from memory_pipeline.redaction.packing import Packed, in_one, unpack
from memory_pipeline.redaction.plausible import is_key
from memory_pipeline.redaction.rules import load_scanner
from memory_pipeline.redaction.spans import TOKEN, Span
from memory_pipeline.redaction.views import Derived, from_percent, joined, readable

_VENDOR_RANK = 2
_BORDER = b"\n \n"
_DEPTH = 2
"""How often base64 is unpacked inside base64."""

_NOT_JOINED = frozenset({"pass", "random", "prefixed", "packed", "login", "option", "codes", "private-key", "pgpass"})
_NOT_DECODED = frozenset({"packed"})
"""Signals that mean little where a line break was taken out: neighbouring words look like one."""


class Detector:
    """Finds secrets in UTF-8 bytes. Loading takes 1 s with a warm cache and about 8 s without.

    Raises MemoryPipelineError where the rules cannot be loaded or fail the self-test. Threads may share a detector.
    """

    def __init__(self, cache_dir: Path) -> None:
        self._scanner = load_scanner(cache_dir)
        self._self_test()

    def find(self, data: bytes, depth: int = _DEPTH) -> list[Span]:
        """All findings, in no particular order; they may overlap."""
        view = readable(data)
        hits = self._hits(view)
        spans: list[Span] = []
        packed: list[Packed] = []
        for source, name, start, end in hits:
            if name == "packed":
                if depth and (item := unpack(view, start, end)) and item not in packed[-2:]:
                    packed.append(item)
            else:
                spans += _read(source, name, view, start, end)
        spans = [_named_by_itself(data, view, span) for span in spans]
        if lines := joined(view):
            spans += self._derived(lines, lines.text, broken=True)
        if depth and (plain := from_percent(view)):
            spans += self._derived(plain, readable(plain.text), broken=False)
        return [*spans, *self._packed(packed, depth)]

    def _hits(self, view: bytes) -> list[tuple[str, str, int, int]]:
        """(source, name, start, end) of everything that the engine reports."""
        hits = []
        for finding in self._scanner.scan(view):
            _, source, _, name = finding.rule_id.split(".", 3)
            location = finding.location
            hits.append((source, name, location["start_offset"], location["end_offset"]))
        return hits

    def _derived(self, derived: Derived, text: bytes, *, broken: bool) -> Iterator[Span]:
        """What is found in a text made of pieces of the view, in the places of the view.

        ``broken``: only what stood on both sides of a line break that was taken out; the rest was found before.
        """
        for source, name, start, end in self._hits(text):
            if source == "signal" and name in (_NOT_JOINED if broken else _NOT_DECODED):
                continue
            for span in _read(source, name, text, start, end):
                if not broken or derived.is_broken(min(start, span.start), span.end):
                    first, last = derived.original(span.start, span.end)
                    yield span._replace(start=first, end=last)

    def _packed(self, packed: list[Packed], depth: int) -> Iterator[Span]:
        text, starts = in_one(packed, _BORDER)
        for span in self.find(text, depth - 1) if packed else ():
            first = bisect_right(starts, span.start) - 1
            for item in packed[first : bisect_right(starts, span.end - 1)]:
                yield span._replace(start=item.start, end=item.end)

    def _self_test(self) -> None:
        for name, text, secret in _planted():
            data = text.encode()
            start = data.index(secret.encode())
            if not any(span.start <= start and start + len(secret) <= span.end for span in self.find(data)):
                raise MemoryPipelineError(
                    f"The secret scanner does not recognise a planted {name}, so nothing is indexed. "
                    "Reinstall kingfisher-secret-scanner in the version this package pins."
                )


def _read(source: str, name: str, view: bytes, start: int, end: int) -> Iterator[Span]:
    if source == "signal":
        yield from READERS[name](view, start, end)
        return
    while start < end and view[start : start + 1] in b"\"'` \n\t":
        start += 1
    while end > start and view[end - 1 : end] in b"\"'` \n\t":
        end -= 1
    if b"EXAMPLE" in view[start:end]:
        return  # as the documents of some vendors mark theirs
    if source == "vendor" or is_key(view[start:end], shortest=16, hex_too=False):
        yield Span(start, end, name, view[start:end], _VENDOR_RANK)


def _named_by_itself(data: bytes, view: bytes, span: Span) -> Span:
    """The span with the secret as it is, not as the escapes around here made it look."""
    text = data[span.start : span.end]
    if text == view[span.start : span.end] or TOKEN.search(text) or len(span.value) != len(text):
        return span
    if re.search(rb"%[0-9A-Fa-f]{2}", text):
        text = unquote_to_bytes(text)
    if b"&" in text:
        text = html.unescape(text.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
    text = re.sub(rb"\\+([nrt])", lambda found: {b"n": b"\n", b"r": b"\r", b"t": b"\t"}[found[1]], text)
    return span._replace(value=text.replace(b"\\", b"").strip())


def _planted() -> list[tuple[str, str, str]]:
    """(name, text, secret) of fakes put together here, so that no scanner takes this file for a leak."""
    noise = hashlib.sha256(b"planted").hexdigest()
    token = "gh" + "p_" + noise[:36]
    password = noise[40:56]
    body = "\n".join(noise[i:] + noise[:i] for i in range(12))
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + body + "\n-----END RSA " + "PRIVATE KEY-----"
    return [
        ("token", f"it is {token}, as said", token),
        ("token inside JSON", f'{{"a":"x\\n{token}\\n"}}', token),
        ("password in an address", f"postgres://app:{password}@db.corp.net:5432/prod", password),
        ("private key", key, body),
    ]
