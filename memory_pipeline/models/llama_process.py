"""The program of the llama.cpp server that ``embedded`` starts: run by its path, it imports nothing of this package.

Reads one line of JSON from standard input, writes the server's address as one line, and ends when standard input does:
with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import xllamacpp

_ERRORS_ONLY = 1


def main() -> None:
    order = json.loads(sys.stdin.readline())
    server = _start(order)
    print(server.listening_address, flush=True)  # noqa: T201 - this is what is asked for
    sys.stdin.read()
    os._exit(0)  # stopping the server while it is at work on a request blocks for ever


def _start(order: dict[str, Any]) -> Any:
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
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.n_parallel = order["slots"]
    params.n_ctx = order["slots"] * order["context"]
    params.cache_ram_mib = 0
    if not order["embeddings"]:
        return xllamacpp.Server(params)
    params.embedding = True
    params.n_batch = params.n_ubatch = order["context"]  # a text must fit into one physical batch
    server = xllamacpp.Server(params)
    if "error" in server.handle_embeddings({"input": ["a"], "model": order["name"]}):
        # A chat model says nothing of pooling; the mean is what can be made of it.
        del server
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        server = xllamacpp.Server(params)
    return server


if __name__ == "__main__":
    main()
