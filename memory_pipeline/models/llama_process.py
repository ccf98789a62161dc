"""The program of the llama.cpp server that ``embedded`` starts: run by its path, it imports nothing of this package.

Reads one line of JSON from standard input, writes the server's address as one line, and ends when standard input does:
with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import xllamacpp

_ERRORS_ONLY = 1
_SMALL_FILE = 500_000_000
"""Bytes of a model whose tokens take one thread less time than several take to wait for each other at every layer: of
98 MB, 40 tokens a second on two busy cores rather than 20."""
_LOG_SECONDS = 5.0


def main() -> None:
    order = json.loads(sys.stdin.readline())
    params = _params(order)
    try:
        servers = [xllamacpp.Server(params)]
        if order["embeddings"] and "error" in servers[0].handle_embeddings({"input": ["a"], "model": order["name"]}):
            # A chat model's file says nothing of pooling; the mean is what can be made of it. The first server stays,
            # idle: stopping one may block for ever.
            params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
            servers.append(xllamacpp.Server(params))
    except RuntimeError:
        _wait_for_log()
        raise
    print(servers[-1].listening_address, flush=True)  # noqa: T201 - this is what is asked for
    sys.stdin.read()
    os._exit(0)


def _params(order: dict[str, Any]) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["name"]}
    params.api_keys = [order["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system picks a free one
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.verbosity = _ERRORS_ONLY
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = order["threads"]
        cpu.poll = 0  # threads that wait must not keep others off the cores
    if not order["embeddings"] and Path(order["model"]).stat().st_size < _SMALL_FILE:
        params.cpuparams.n_threads = 1  # of answers; prompts are read by all
    params.n_parallel = order["slots"]
    params.n_ctx = order["slots"] * order["context"]
    params.cache_ram_mib = 0
    if order["embeddings"]:
        params.embedding = True
        params.n_batch = params.n_ubatch = order["context"]  # a text must fit into one physical batch
    return params


def _wait_for_log() -> None:
    """llama.cpp's own words come from a thread of its own, and would be lost if we ended first."""
    end = time.monotonic() + _LOG_SECONDS
    while os.fstat(sys.stderr.fileno()).st_size == 0 and time.monotonic() < end:
        time.sleep(0.01)


if __name__ == "__main__":
    main()
