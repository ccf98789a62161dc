"""What a server's refusals mean, as one sentence for people. Never repeats a document or a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elastic_transport import ConnectionError, ConnectionTimeout, TlsError, TransportError
from elasticsearch import ApiError, UnsupportedProductError

from memory_pipeline.errors import KeyRefused, ModelError, ModelOutage, ModelRefused, StoreError

_FIELD = re.compile(r"field \[([^\]]+)\]|introduction of \[([^\]]+)\]")
_UNPAID = re.compile(r"license is non-compliant for \[([^\]]+)\]")
PASSING = frozenset({429, 502, 503, 504})
"""Statuses of a server that is busy or on its way up: the same request may succeed a little later."""


def explained(error: ApiError | TransportError | UnsupportedProductError, place: str) -> StoreError:
    """The error as a StoreError; ``place`` is the server's address without credentials."""
    if isinstance(error, UnsupportedProductError):
        return StoreError(f"What answers at {place} is no Elasticsearch; check ES_URL.")
    if isinstance(error, TlsError):
        return StoreError(
            f"No trusted connection to {place} (TLS): {_first_line(error)}. Check that ES_URL begins with "
            "https:// only where the server speaks TLS, and that this machine trusts its certificate (SSL_CERT_FILE)."
        )
    if isinstance(error, ConnectionTimeout):
        return StoreError(f"Elasticsearch at {place} did not answer in time; it may be overloaded. Try again later.")
    if isinstance(error, ConnectionError):
        return StoreError(f"Elasticsearch at {place} can't be reached; check ES_URL, and that the server runs.")
    if isinstance(error, ApiError):
        if error.status_code == 404 and "x-elastic-product" not in error.meta.headers:
            return StoreError(f"What answers at {place} is no Elasticsearch; check ES_URL.")
        return of_status(error.status_code, _cause(error), place)
    return StoreError(f"Talking to Elasticsearch at {place} failed: {_first_line(error)}.")


def of_status(status: int, cause: Mapping[str, Any], place: str) -> StoreError:
    """The sentence for a refusal of the whole request, or of an item for a reason that is not its own."""
    kind, reason = str(cause.get("type", "")), str(cause.get("reason", ""))
    if kind == "cluster_block_exception":
        why = (
            "its disk is nearly full"
            if "flood-stage" in reason or "read-only-allow-delete" in reason
            else "it is blocked"
        )
        return StoreError(
            f"An index at {place} takes no writes, because {why}. Free some disk or lift the block "
            "(index.blocks.*), then run again; nothing that was stored is lost."
        )
    if status == 401:
        return StoreError(f"Elasticsearch at {place} does not accept the key; check ES_API_KEY.")
    if (unpaid := _UNPAID.search(reason)) is not None:
        return StoreError(
            f"The licence of Elasticsearch at {place} does not include {unpaid[1]}; it takes a paid one, or a trial."
        )
    if status == 403:
        return StoreError(
            f"The key in ES_API_KEY may not do this at {place} ({_action(reason)}); give it the right, or use one made "
            "for writing: memory-pipeline es setup."
        )
    if status == 413:
        return StoreError(f"A request was too large for Elasticsearch at {place} (http.max_content_length).")
    if status in PASSING or kind in ("search_phase_execution_exception", "no_shard_available_action_exception"):
        return StoreError(
            f"Elasticsearch at {place} can't serve an index now (status {status}, {kind or 'no reason given'}): it is "
            "overloaded, starting, or lacks a shard. Look at its health, then run again."
        )
    if kind == "index_not_found_exception":
        return StoreError(f"An index is missing at {place}; run memory-pipeline doctor, or any run, to make it anew.")
    return StoreError(f"Elasticsearch at {place} refused a request: {kind or status}.")


@dataclass(frozen=True, slots=True)
class NotEmbedded:
    """Why the cluster could not make a vector of a text."""

    status: int
    endpoint: str
    is_missing: bool = False

    def as_error(self, place: str) -> ModelError:
        """The error with a sentence for people; ``place`` is the server's address."""
        where = f"the inference endpoint {self.endpoint} of Elasticsearch at {place}"
        if self.is_missing:
            return ModelRefused(
                f"There is no inference endpoint {self.endpoint} at {place}; name another in ES_INFERENCE_ID, or make "
                "it with: memory-pipeline es setup --endpoint."
            )
        if self.status in (401, 403):
            return KeyRefused(f"The service behind {where} does not accept its key; make the endpoint anew.")
        if self.status == 429 or self.status >= 500:
            return ModelOutage(
                f"{where[0].upper()}{where[1:]} can't reach the service behind it, or that is busy (status "
                f"{self.status}). What was stored stays; the vectors are made by the next run."
            )
        return ModelRefused(f"The service behind {where} refused a text (status {self.status}).")


_ENDPOINT = re.compile(r"[Ii]nference (?:entity )?(?:id|endpoint not found) \[([^\]]+)\]")
_STATUS = re.compile(r"status \[(\d{3})\]")


def not_embedded(status: int, cause: Mapping[str, Any]) -> NotEmbedded | None:
    """What an item's error says of the endpoint that makes vectors; None where it is about something else."""
    kind, reason = str(cause.get("type", "")), str(cause.get("reason", ""))
    match, behind = _ENDPOINT.search(reason), cause.get("caused_by")
    is_missing = kind == "resource_not_found_exception" and match is not None
    if kind != "inference_exception" and not is_missing:
        return None
    told = str(behind.get("reason", "")) if isinstance(behind, Mapping) else ""
    return NotEmbedded(status_behind(told, status), match[1] if match else "", is_missing)


def status_behind(reason: str, status: int) -> int:
    """What the service answered, by the reason: Elasticsearch calls some of its failures a bad request."""
    told = _STATUS.search(reason)
    return int(told[1]) if told else status


def of_item(error: Mapping[str, Any]) -> tuple[str, str]:
    """Field (or ``''``) and reason of a document that does not fit the index; never a value of it."""
    kind, reason = str(error.get("type", "")), str(error.get("reason", ""))
    match = _FIELD.search(reason)
    field = next((name for name in match.groups() if name), "") if match else ""
    if kind == "strict_dynamic_mapping_exception":
        return field, "is not a field of the index"
    return field, f"does not fit the index ({kind})"


def _cause(error: ApiError) -> Mapping[str, Any]:
    body = error.body
    found = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    roots = found.get("root_cause")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first if isinstance(first, Mapping) and first.get("type") == "cluster_block_exception" else found


def _action(reason: str) -> str:
    match = re.search(r"action \[([\w:/*-]+)\]", reason)
    return match[1] if match else "forbidden"


def _first_line(error: Exception) -> str:
    return (str(error.args[0]) if error.args else type(error).__name__).split("\n")[0].rstrip(".")
