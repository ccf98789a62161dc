"""An embedder that can be told of texts before anybody asks for their vectors, and uses the time in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from memory_pipeline.models.contract import Embedder


class EmbedsAhead:
    """An :class:`~memory_pipeline.models.contract.Embedder` over another one, which it owns.

    A thread works on what is expected, in order, while the caller does something else. A vector is kept until it was
    asked for as often as it was expected; a text that was not expected is embedded when it is asked for. What an
    expected text raises is raised where its vector is asked for.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="embed-ahead")
        self._expected: dict[str, tuple[Future[list[list[float]]], int]] = {}
        """Text → the vectors of all that were expected with it, and its place among them."""
        self._times: Counter[str] = Counter()

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def expect(self, texts: Sequence[str]) -> None:
        """Begin with these texts when those expected before are done; returns at once."""
        self._times.update(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._expected]
        if new:
            vectors = self._worker.submit(self._embedder.embed, new)
            self._expected |= {text: (vectors, place) for place, text in enumerate(new)}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        wanted = dict.fromkeys(texts)
        expected = {text: self._expected[text] for text in wanted if text in self._expected}
        self._times.subtract(text for text in texts if text in expected)
        for text in expected:
            if self._times[text] <= 0:
                del self._expected[text], self._times[text]
        others = [text for text in wanted if text not in expected]
        found = dict(zip(others, self._embedder.embed(others), strict=True)) if others else {}
        found |= {text: vectors.result()[place] for text, (vectors, place) in expected.items()}
        return [found[text] for text in texts]

    def close(self) -> None:
        """Forget what is expected; the request that is at work ends first."""
        self._expected.clear()
        self._times.clear()
        self._worker.shutdown(cancel_futures=True)
        self._embedder.close()
