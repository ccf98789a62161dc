"""The secrets of one session: learnt in a first look over all its texts, replaced everywhere in a second."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from memory_pipeline.redaction.literals import Literals, is_distinctive
from memory_pipeline.redaction.marks import Marks, mark
from memory_pipeline.redaction.redacted import Redacted
from memory_pipeline.redaction.scanning import Scanning, batches, decode, encode
from memory_pipeline.redaction.spans import Secret, rewrite, secrets_of, token


class SessionSecrets:
    """Made by ``Redactor.session()``; not for several threads at once.

    ``learn`` all texts, then ``redact`` the same texts in the same order; both may come in pieces of any size. Kept in
    memory are the secrets found and the numbers of the texts they were found in, never the texts. Values with one of
    the ``earlier`` marks are known again wherever they stand.
    """

    def __init__(self, scanning: Scanning, key: bytes, earlier: Collection[str] = ()) -> None:
        self._scanning = scanning
        self._key = key
        self._learnt = 0
        self._redacted = 0
        self._suspects: set[int] = set()
        self._tokens: dict[bytes, str] = {}
        self._names: set[str] = set()
        self._literals: Literals | None = None
        self._earlier = frozenset(earlier)
        self._marks = Marks(self._earlier, key)

    @property
    def marks(self) -> list[str]:
        """By which the session's secrets are known again; the earlier ones are among them."""
        values = ((value, written) for value, written in self._tokens.items() if is_distinctive(value))
        return sorted(self._earlier.union(mark(self._key, written, value) for value, written in values))

    @property
    def known(self) -> int:
        """How many different secrets were learnt."""
        return len(self._names)

    def learn(self, texts: Sequence[str]) -> None:
        """First look: remembers which texts hold secrets, and the secrets."""
        for batch in batches(texts):
            encoded = [encode(text) for text in batch]
            for data in encoded if self._marks else ():
                self._recall(data)
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
        if self._marks:
            self._recall(encode(text))
        return self._redact(text, scan=True)

    def redact_again(self, texts: Sequence[str]) -> list[Redacted]:
        """Texts among those that were learnt, in any order: each is scanned, which takes ten times as long."""
        results = []
        for text in texts:
            result = self._redact(text, scan=True)
            told = result.count > 0 and bool(self._scanning.find(encode(text)))
            results.append(replace(result, recognised=True) if told else result)
        return results

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

    def _recall(self, data: bytes) -> None:
        for value, written in self._marks.find(data).items():
            if value not in self._tokens:
                self._tokens[value] = written
                self._names.add(written)
                self._literals = None

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
