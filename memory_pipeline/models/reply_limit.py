"""A limit on a whole reply. httpx limits each wait for bytes only, which a server that drips them never reaches."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
_SENDING = "http11.send_request_headers.started"


class Wires:
    """The open connections of one HTTP client, noted as they are made so that they can be cut."""

    def __init__(self, at_once: int) -> None:
        self._streams: deque[Any] = deque(maxlen=2 * at_once)  # an encrypted one is noted twice

    def add(self, stream: Any) -> None:
        self._streams.append(stream)

    def cut(self) -> None:
        """End what is being read. All of the client's connections go: which one is whose can't be told."""
        for stream in tuple(self._streams):
            # The plain socket's own: an encrypted one would say goodbye first, to a server that may not listen.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)


class ReplyLimit:
    """Cuts the client's wires when a reply has taken ``seconds`` since its request was sent.

    Used as a context around one request that has :meth:`trace` as its ``trace`` extension. Waiting for a connection to
    become free does not count.
    """

    def __init__(self, wires: Wires, seconds: float) -> None:
        self.passed = False
        self._wires = wires
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in _CONNECTED:
            self._wires.add(info["return_value"])
        elif event == _SENDING and self._timer.ident is None:
            self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self.passed = True
        self._wires.cut()
