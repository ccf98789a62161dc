"""The secrets of one session: learnt in a first look over all its texts, replaced everywhere in a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory_pipeline.redaction.literals import Literals, is_distinctive
from memory_pipeline.redaction.redacted import Redacted
from memory_pipeline.redaction.scanning import Scanning, batches, decode, encode
from memory_pipeline.redaction.spans import Secret, rewrite, secrets_of, token


class SessionSecrets:
    """Made by ``Redactor.session()``; not for several threads at once.

    ``learn`` all texts, then ``redact`` the same texts in the same order; both may come in pieces of any size. Kept in
    memory are the secrets found and the numbers of the texts they were found in, never the texts.
    """

    def __init__(self, scanning: Scanning, key: bytes) -> None:
        self._scanning = scanning
        self._key = key
        self._learnt = 0
        self._redacted = 0
        self._suspects: set[int] = set()
        self._tokens: dict[bytes, str] = {}
        self._names: set[str] = set()
        self._literals: Literals | None = None

    @property
    def known(self) -> int:
        """How many different secrets were learnt."""
        return len(self._names)

    def learn(self, texts: Sequence[str]) -> None:
        """First look: remembers which texts hold secrets, and the secrets."""
        for batch in batches(texts):
            encoded = [encode(text) for text in batch]
            for index in sorted(self._scanning.suspects(encoded)):
                self._suspects.add(self._learnt + index)
                self._scanning.clean(encoded[index], self._remember)
            self._learnt += len(batch)

    def redact(self, texts: Sequence[str]) -> list[Redacted]:
        """Second look at the same texts: findings and every other occurrence of what was learnt become tokens."""
        results = []
        for text in texts:
            recognised = self._redacted in self._suspects
            result = self._redact(text, scan=recognised)
            results.append(replace(result, recognised=True) if recognised else result)
            self._redacted += 1
        return results

    def redact_one(self, text: str) -> Redacted:
        """A short string that was not learnt, such as a name or a path: scanned, and searched for what is known."""
        return self._redact(text, scan=True)

    def redact_literals(self, text: str) -> Redacted:
        """Only what is known goes; for text of this session that was scanned before, such as stored text."""
        data = encode(text)
        secrets = secrets_of(data, self._known().find(data))
        if not secrets:
            return Redacted(text, 0)
        data, kinds = rewrite(data, secrets, self._token)
        return Redacted(decode(data), kinds.total(), kinds)

    def _redact(self, text: str, *, scan: bool) -> Redacted:
        if not scan and not self._tokens:
            return Redacted(text, 0)
        data = encode(text)
        known = self._known().find
        # Where a known secret was taken out, another may come to light; such a text is scanned like a suspect.
        if not scan and not secrets_of(data, known(data)):
            return Redacted(text, 0)
        data, kinds = self._scanning.clean(data, self._token, known)
        return Redacted(decode(data), kinds.total(), kinds) if kinds else Redacted(text, 0)

    def _remember(self, secret: Secret) -> str:
        written = self._token(secret)
        self._names.add(written)
        for value in secret.values:
            self._tokens.setdefault(value, written)
        self._literals = None
        return written

    def _token(self, secret: Secret) -> str:
        for value in secret.values:
            if value in self._tokens:
                return self._tokens[value]
        return token(self._key, secret.kind, secret.values[0])

    def _known(self) -> Literals:
        if self._literals is None:
            self._literals = Literals(
                (value, written.split(":")[1]) for value, written in self._tokens.items() if is_distinctive(value)
            )
        return self._literals
