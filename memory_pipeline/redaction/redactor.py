"""Texts in, texts without secrets out: the front of this room."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from memory_pipeline.redaction.custom import Custom
from memory_pipeline.redaction.detector import Detector
from memory_pipeline.redaction.redacted import Redacted
from memory_pipeline.redaction.rules import rules_version
from memory_pipeline.redaction.scanning import Scanning, batches, decode, encode
from memory_pipeline.redaction.session import SessionSecrets
from memory_pipeline.redaction.spans import Secret, token

RULES_VERSION = rules_version()
"""Of the rules that come with this package; ``Redactor.rules_version`` has the user's own in it too."""


class Redactor:
    """Replaces each secret by ``[redacted:kind:xxxxxx]``; x are the first 6 hex digits of an HMAC-SHA256 with ``key``.

    What comes out depends on the text and the key alone, not on the texts beside it; redacting twice changes nothing.
    The rules are loaded at the first use (MemoryPipelineError where that fails: nothing passes unread). Threads may
    share a redactor.
    """

    def __init__(self, cache_dir: Path, key: bytes, custom: Custom = Custom()) -> None:  # noqa: B008 - it is frozen
        self._key = key
        self._custom = custom
        self._scanning = Scanning(lambda: Detector(cache_dir), custom)

    @property
    def rules_version(self) -> str:
        """Changes with the rules, with Kingfisher's release, and with the user's patterns and exceptions."""
        return "-".join(part for part in (RULES_VERSION, self._custom.version) if part)

    def load_ahead(self) -> None:
        """Begin to load the rules in a thread. Where that fails, the first use tries again and says why."""
        self._scanning.load_ahead()

    def redact(self, text: str) -> Redacted:
        data, kinds = self._scanning.clean(encode(text), self._token)
        return Redacted(decode(data), kinds.total(), kinds) if kinds else Redacted(text, 0)

    def redact_many(self, texts: Iterable[str]) -> list[Redacted]:
        """One result per text, in order; ten times as fast as one by one, because most texts hold no secret."""
        results: list[Redacted] = []
        for batch in batches(texts):
            suspects = self._scanning.suspects([encode(text) for text in batch])
            results += [self.redact(text) if i in suspects else Redacted(text, 0) for i, text in enumerate(batch)]
        return results

    def session(self, earlier: Collection[str] = ()) -> SessionSecrets:
        """A view of one session's texts that also replaces what is recognised only elsewhere in them.

        ``earlier``: marks of secrets that were found in it before, or in a session that it shares messages with.
        """
        return SessionSecrets(self._scanning, self._key, earlier)

    def _token(self, secret: Secret) -> str:
        return token(self._key, secret.kind, secret.values[0])
