"""What counts as a secret: Kingfisher's rules as shipped, loaded once, tested on planted fakes before first use.

Only the scanner of the library is used; its validator and revoker talk to the network. Own rules belong here.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory_pipeline.errors import MemoryPipelineError

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

_MINIMUM_RULES = 400
"""The pinned release has 488; far fewer means that its rule files are not the ones this was built for."""

_HELPER_NAMES = ("-id", "-url", "-host", "-name", "-username", "-domain", "-address", "-repository", "-public-key")
"""Rules for the public half of a credential (an account's name, a server's address), which is no secret by itself."""

_ESCAPES = {rb"\n": b" \n", rb"\r": b" \r", rb"\t": b" \t", rb"\b": b"  ", rb"\f": b"  "} | {
    b"\\" + sign: b" " + sign for sign in (b'"', b"'", b"/")
}
_CODE_ESCAPE = re.compile(rb"\\u[0-9a-fA-F]{4}")


class Span(NamedTuple):
    """One finding: bytes ``start`` to ``end`` of the text scanned, and the short name of its rule."""

    start: int
    end: int
    kind: str


class Detector:
    """Finds secrets in UTF-8 bytes. Loading takes 0.4 s with a warm cache and 4 to 8 s without.

    Raises MemoryPipelineError where the rules cannot be loaded or fail the self-test. Threads may share a detector.
    """

    def __init__(self, cache_dir: Path) -> None:
        self._scanner = _load(cache_dir)
        self._self_test()

    def find(self, data: bytes) -> list[Span]:
        """All findings, in no particular order; they may overlap.

        A second look blanks JSON escapes, because most rules want a border before a token and the ``n`` of a literal
        ``\\n`` is none. Blanking keeps every offset valid.
        """
        plain = data.replace(b"\0", b" ")  # NUL bytes make the scanner guess at UTF-16, and offsets would shift
        spans = self._scan(plain)
        unescaped = _without_escapes(plain)
        if unescaped != plain:
            spans += self._scan(unescaped)
        return spans

    def _scan(self, data: bytes) -> list[Span]:
        spans = []
        for finding in self._scanner.scan(data):
            kind = _kind(finding.rule_id)
            if finding.visible or not kind.endswith(_HELPER_NAMES):
                spans.append(Span(finding.location["start_offset"], finding.location["end_offset"], kind))
        return spans

    def _self_test(self) -> None:
        for name, text, secret in _planted():
            data = text.encode()
            start = data.index(secret.encode())
            if not any(span.start <= start and start + len(secret) <= span.end for span in self.find(data)):
                raise MemoryPipelineError(
                    f"The secret scanner does not recognise a planted {name}, so nothing is indexed. "
                    "Reinstall kingfisher-secret-scanner in the version this package pins."
                )


def _load(cache_dir: Path) -> Scanner:
    with contextlib.suppress(OSError):  # without a cache it is slower, not wrong
        cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        cache_dir.chmod(0o700)  # the library trusts a private folder only
    try:
        from kingfisher_sdk import Rules, Scanner  # noqa: PLC0415 - loads the native library, only when needed

        rules = Rules(cache_dir=cache_dir)
        scanner = Scanner(rules)
    except Exception as error:  # whatever it is: without rules nothing may pass
        raise MemoryPipelineError(
            f"The rules of the secret scanner cannot be loaded ({type(error).__name__}), so nothing is indexed. "
            "Reinstall kingfisher-secret-scanner in the version this package pins."
        ) from error
    if len(rules) < _MINIMUM_RULES:
        raise MemoryPipelineError(
            f"The secret scanner has {len(rules)} rules instead of more than {_MINIMUM_RULES}, so nothing is indexed. "
            "Reinstall kingfisher-secret-scanner in the version this package pins."
        )
    return scanner


def _kind(rule_id: str) -> str:
    """``betterleaks.abuseipdb-api-key.1`` → ``abuseipdb-api-key``."""
    name = re.split(r"[./]", re.sub(r"\.\d+$", "", rule_id))[-1]
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "secret"


def _without_escapes(data: bytes) -> bytes:
    """JSON escapes as the characters they stand for, padded with blanks to the same length."""
    if b"\\" not in data:
        return data
    for escape, character in _ESCAPES.items():
        data = data.replace(escape, character)
    return _CODE_ESCAPE.sub(b" " * 6, data)


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
