"""What the Elasticsearch store costs beside a bare client: ``python -m benchmarks.elasticsearch``.

    [--url URL] [--messages 20000] [--vectors 100000]

Without ``--url`` the server of the tests is started for it. Everything is synthetic: messages of generated sessions,
and memories whose vectors (384 numbers) lie around 1,000 random directions, as memories lie around topics; each query's
vector is such a one too. Ratios are within one run on one server, goals beside them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elasticsearch import Elasticsearch
from rich.console import Console

from benchmarks.elasticsearch import indexing, searching
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.distribution import distribution
from memory_pipeline_tests.support.elasticsearch.server import ElasticsearchServer, free_port

PREFIX = "benchmark"


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="memory-pipeline-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server runs as another user where this is root
        server = ElasticsearchServer(distribution(), folder / "server", free_port())
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a server to measure; its indices of the prefix benchmark are deleted")
    parser.add_argument("--messages", type=int, default=20_000, help="messages to index (0: leave that out)")
    parser.add_argument("--vectors", type=int, default=100_000, help="memories to search (0: leave that out)")
    arguments = parser.parse_args()
    console = Console()
    with _server(arguments.url) as url, Elasticsearch(url) as client:
        console.print(f"Elasticsearch {client.info()['version']['number']} at {url}")
        drop_indices(client, PREFIX)
        try:
            if arguments.messages:
                console.print(indexing.table(url, client, PREFIX, arguments.messages))
            if arguments.vectors:
                console.print(searching.table(url, client, PREFIX, arguments.vectors))
        finally:
            drop_indices(client, PREFIX)


if __name__ == "__main__":
    main()
