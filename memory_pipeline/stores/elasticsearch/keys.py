"""API keys with just the rights that are needed, limited to the indices of one prefix.

What each right is for was found by taking it away (see the tests): ``manage`` makes indices, moves aliases and adds
fields; the rest of writing is ``write``. No key needs a right on the cluster, but for the use of inference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elasticsearch import ApiError, Elasticsearch

from memory_pipeline.errors import StoreError
from memory_pipeline.stores.elasticsearch.connection import Server, connect
from memory_pipeline.stores.elasticsearch.names import project_name

PAID = "Limiting a key to a project (document-level security) needs a paid licence of Elastic's, or Serverless"


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What to ask for: the body of ``POST /_security/api_key``, and what the key is for."""

    purpose: str
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.body["name"])

    def as_console(self) -> str:
        """As one pastes it into Kibana's Dev Tools."""
        return f"POST /_security/api_key\n{json.dumps(self.body, indent=2)}"


def key_requests(prefix: str, project: str | None = None) -> list[KeyRequest]:
    """A key that writes, one that only reads, and with a project one that reads no other."""
    indices = [f"{prefix}-*"]
    writer = {
        "cluster": ["monitor_inference"],
        "indices": [{"names": indices, "privileges": ["read", "write", "manage"]}],
    }
    reading = {"names": indices, "privileges": ["read", "view_index_metadata"]}
    reader = {"cluster": ["monitor_inference"], "indices": [reading]}
    found = [
        KeyRequest("writes: runs, migrations, copies", _body(f"{prefix}-writer", "writer", writer)),
        KeyRequest("only reads: search, show, export", _body(f"{prefix}-reader", "reader", reader)),
    ]
    if project is not None:
        only = {"bool": {"should": [{"term": {"project": project}}, {"prefix": {"doc_id": "embedding:"}}]}}
        limited = {"cluster": ["monitor_inference"], "indices": [{**reading, "query": only}]}
        body = _body(f"{prefix}-reader-{project_name(project)}", "reader", limited)
        found.append(KeyRequest(f"only reads what belongs to {project}", body))
    return found


def make_key(request: KeyRequest, url: str, admin: str) -> str:
    """Make the key as ``admin`` (``user:password``) and return it encoded, as ES_API_KEY takes it.

    StoreError where there is such a key already, where the user may not make any, or where the licence does not do.
    """
    server = open_admin(url, admin)
    client = server.client
    try:
        there = server(client.security.get_api_key, name=request.name, active_only=True)["api_keys"]
        if there:
            raise StoreError(
                f"There is a key {request.name} already (id {there[0]['id']}); a key is shown only once. Invalidate it "
                f'to make another one: DELETE /_security/api_key {{"name": "{request.name}"}}.'
            )
        made = server(
            client.security.create_api_key,
            name=request.name,
            role_descriptors=request.body["role_descriptors"],
            metadata=request.body["metadata"],
        )
        encoded = str(made["encoded"])
        if "query" in json.dumps(request.body):
            _check_licence(url, encoded, request, client, made["id"])
        return encoded
    finally:
        server.close()


def open_admin(url: str, admin: str | None, api_key: str | None = None) -> Server:
    """The cluster as ``admin`` (``user:password``), or with a key, or as nobody in particular."""
    if admin is None:
        return Server(connect(url, api_key), url)
    user, colon, password = admin.partition(":")
    if not colon:
        raise StoreError(
            "ES_ADMIN has to be user:password: Elasticsearch lets no API key make another one with rights. "
            "Without it, memory-pipeline es setup prints what to paste into Kibana."
        )
    return Server(Elasticsearch(url, basic_auth=(user, password), request_timeout=60, max_retries=0), url)


def _check_licence(url: str, encoded: str, request: KeyRequest, admin: Elasticsearch, key_id: str) -> None:
    """A key that the licence makes useless is taken back: Elasticsearch says so only when it is used."""
    [limited] = request.body["role_descriptors"].values()
    with connect(url, encoded) as client:
        try:
            client.search(index=limited["indices"][0]["names"], size=0)
        except ApiError as error:
            if "non-compliant" in str(error.body):
                admin.security.invalidate_api_key(ids=[key_id])
                raise StoreError(f"{PAID}; this cluster has none, so that key was not kept.") from None


def _body(name: str, role: str, rights: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "role_descriptors": {role: dict(rights)}, "metadata": {"made_by": "memory-pipeline"}}
