"""Texts in, findings out: texts are joined for speed, because a scan costs more to start than to run."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from memory_pipeline.batches import batched_by
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.redaction.custom import Custom
from memory_pipeline.redaction.detector import Detector
from memory_pipeline.redaction.spans import Name, Span, rewrite, secrets_of

_BORDER = b"\n \n"
_CHUNK = 1 << 20


class Scanning:
    """The rules, loaded at the first use, and what to do with many texts. Threads may share it."""

    def __init__(self, load: Callable[[], Detector], custom: Custom) -> None:
        self._load = load
        self._custom = custom
        self._detector: Detector | None = None
        self._loading = threading.Lock()

    @property
    def detector(self) -> Detector:
        with self._loading:
            if self._detector is None:
                self._detector = self._load()
            return self._detector

    def load_ahead(self) -> None:
        """Load the rules in a thread; compiling them, which takes seconds once, leaves Python to the others."""

        def load() -> None:
            with suppress(MemoryPipelineError):  # raised again at the first use
                _ = self.detector

        threading.Thread(target=load, name="load-rules", daemon=True).start()

    def find(self, data: bytes) -> list[Span]:
        return self._custom.apply(data, self.detector.find(data))

    def suspects(self, texts: Sequence[bytes]) -> set[int]:
        """Which texts the findings in all of them joined touch.

        Each of these has to be scanned alone: what stands in a neighbouring text must not decide what this one reads
        like.
        """
        starts = []
        position = 0
        for data in texts:
            starts.append(position)
            position += len(data) + len(_BORDER)
        found: set[int] = set()
        for span in self.find(_BORDER.join(texts)):
            first, last = bisect_right(starts, span.start) - 1, bisect_right(starts, span.end - 1) - 1
            found.update(range(first, last + 1))
        return found

    def clean(
        self, data: bytes, name: Name, known: Callable[[bytes], list[Span]] | None = None
    ) -> tuple[bytes, Counter[str]]:
        """``data`` with a token for each finding of the rules and of ``known``, and how many there were by kind.

        Again until nothing is found: a replaced secret may have hidden another. Ends, because every round takes out
        bytes that no token covers.
        """
        kinds: Counter[str] = Counter()
        while True:
            spans = self.find(data)
            if known is not None:
                spans = [*spans, *known(data)]
            secrets = secrets_of(data, spans)
            if not secrets:
                return data, kinds
            data, more = rewrite(data, secrets, name)
            kinds += more


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """About a million characters at a time, in order."""
    return batched_by(texts, _CHUNK, len, _CHUNK)


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
