"""One server, and how often it is asked again: the only place that knows the client's errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import orjson
from elastic_transport import ConnectionError, ConnectionTimeout, TlsError, TransportError
from elasticsearch import ApiError, Elasticsearch, OrjsonSerializer, UnsupportedProductError
from elasticsearch.serializer import NdjsonSerializer, Serializer
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from memory_pipeline.settings import without_credentials
from memory_pipeline.stores.elasticsearch.sentences import PASSING, explained, of_status

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT = 60.0  # seconds for one answer
BULK_TIMEOUT = 300.0  # for one bulk: the cluster may have to make vectors meanwhile
LONG_TIMEOUT = 1_800.0  # for what works through a whole index
ATTEMPTS = 6
BACK_OFF = wait_exponential_jitter(multiplier=0.5, max=10)


class _Ndjson(NdjsonSerializer):
    """Lines of JSON by orjson, which the client has for single documents only."""

    def json_dumps(self, data: Any) -> bytes:
        return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)

    def json_loads(self, data: bytes) -> Any:
        return orjson.loads(data)


_SERIALIZERS: Mapping[str, Serializer] = {"application/json": OrjsonSerializer(), "application/x-ndjson": _Ndjson()}


def connect(url: str, api_key: str | None, *, timeout: float = TIMEOUT) -> Elasticsearch:
    """A client for the server at ``url`` (8.x, 9.x or Serverless); connects at its first request."""
    logging.getLogger("elastic_transport").setLevel(logging.ERROR)  # a lost server is told in one sentence, by us
    # The client would ask again at once; waiting in between is Server's.
    return Elasticsearch(
        url,
        api_key=api_key,
        request_timeout=timeout,
        max_retries=0,
        retry_on_status=(),
        serializers=_SERIALIZERS,
    )


class NotNow(Exception):
    """A part of an answer that the server could not give at this moment; ``cause`` is its error."""

    def __init__(self, status: int, cause: Mapping[str, Any]) -> None:
        super().__init__(status)
        self.status = status
        self.cause = cause


class Server:
    """Calls the client's methods: again where the server is busy, with a StoreError where it says no."""

    def __init__(self, client: Elasticsearch, url: str) -> None:
        self.client = client
        self.place = without_credentials(url)
        self._answered = False

    @property
    def patient(self) -> Elasticsearch:
        """The client for what takes long."""
        return self.client.options(request_timeout=LONG_TIMEOUT)

    @property
    def bulk(self) -> Elasticsearch:
        """The client for many documents at once."""
        return self.client.options(request_timeout=BULK_TIMEOUT)

    def __call__(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        retrying = Retrying(
            retry=retry_if_exception(self._is_passing), stop=stop_after_attempt(ATTEMPTS), wait=BACK_OFF, reraise=True
        )
        try:
            result = retrying(method, *args, **kwargs)
        except (ApiError, TransportError, UnsupportedProductError) as error:
            raise explained(error, self.place) from None
        except NotNow as error:
            raise of_status(error.status, error.cause, self.place) from None
        self._answered = True
        return result

    def close(self) -> None:
        self.client.close()

    def _is_passing(self, error: BaseException) -> bool:
        if isinstance(error, NotNow):
            return error.status in PASSING
        if isinstance(error, ApiError):
            return error.status_code in PASSING and "cluster_block_exception" not in str(error.body)
        lost = isinstance(error, ConnectionError) and not isinstance(error, ConnectionTimeout | TlsError)
        return lost and self._answered  # it was there a moment ago; a wrong address is told at once


Source = dict[str, Any]
"""A document as it lies in an index."""
