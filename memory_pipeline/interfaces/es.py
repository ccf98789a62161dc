"""``memory-pipeline es setup``: what a cluster has to have for memories: keys, or an inference endpoint."""

from __future__ import annotations

from memory_pipeline.errors import SettingsError, StoreError
from memory_pipeline.interfaces.terminal import out
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores.elasticsearch.inference import DEFAULT_MODELS, EndpointRequest, Service, register
from memory_pipeline.stores.elasticsearch.keys import PAID, KeyRequest, key_requests, make_key, open_admin
from memory_pipeline.stores.elasticsearch.memorable import pipeline_name, switch_off, switch_on


def set_up_keys(*, project: str | None) -> int:
    """Print or make the keys; 1 where one could not be made."""
    settings = load_settings()
    requests = key_requests(settings.index_prefix, project)
    if settings.es_admin is None:
        _print(requests, settings)
        return 0
    if settings.es_url is None:
        raise SettingsError("ES_URL: is not set; name the cluster that the keys are made in.")
    failed = False
    for request in requests:
        try:
            key = make_key(request, settings.es_url, settings.es_admin.get_secret_value())
        except StoreError as error:
            out.print(f"# {request.name}: {error}", markup=False, soft_wrap=True)
            failed = True
        else:
            out.print(f"# {request.name}: {request.purpose}. It is shown this once.", markup=False, soft_wrap=True)
            out.print(f"ES_API_KEY={key}", markup=False, soft_wrap=True, highlight=False)
    return int(failed)


def set_up_endpoint(service: Service, *, url: str | None, model: str | None) -> None:
    """Make the inference endpoint at ES_URL, or print what to ask for where no cluster is named."""
    settings = load_settings()
    if service == "openai" and url is None:
        raise SettingsError("--url: names the OpenAI-compatible service, such as http://embeddings.example:8080.")
    chosen = model or settings.embeddings_model or DEFAULT_MODELS.get(service)
    if chosen is None:
        raise SettingsError("--model: names the service's embedding model.")
    request = EndpointRequest(settings.es_inference_id, service, chosen, url, settings.embeddings_dims)
    if settings.es_url is None:
        out.print("# Paste this into Kibana's Dev Tools, with the key of the service.", markup=False, soft_wrap=True)
        out.print(request.as_console(), markup=False, soft_wrap=True, highlight=False)
        return
    if service == "jinaai" and settings.es_inference_key is None:
        raise SettingsError("ES_INFERENCE_KEY: is not set; it is the key that Jina asks for.")
    key = None if settings.es_inference_key is None else settings.es_inference_key.get_secret_value()
    server = open_admin(settings.es_url, *_credentials(settings))
    try:
        length = register(server, request, key)
    finally:
        server.close()
    told = f", {length} dimensions" if length else ""
    out.print(
        f"The inference endpoint {request.inference_id} at {server.place} embeds with {service}, {chosen}{told}. "
        "Set MEMORY_EMBEDDINGS=elasticsearch to have memories embedded by it.",
        markup=False,
        soft_wrap=True,
    )


def set_up_marks(*, on: bool) -> None:
    """Switch the ingest pipeline of messages on or off."""
    settings = load_settings()
    if settings.es_url is None:
        raise SettingsError("ES_URL: is not set; name the cluster whose messages are meant.")
    server = open_admin(settings.es_url, *_credentials(settings))
    name = pipeline_name(settings.index_prefix)
    try:
        if on:
            marked = switch_on(server, settings.index_prefix)
            told = f"Messages go through the ingest pipeline {name} from now on; the {marked} that were there did now."
        else:
            switch_off(server, settings.index_prefix)
            told = f"Messages are marked no more; the ingest pipeline {name} is gone, marks that are there stay."
    finally:
        server.close()
    out.print(told, markup=False, soft_wrap=True)


def _credentials(settings: Settings) -> tuple[str | None, str | None]:
    """User and password, and the key: whichever is set, the admin's first."""
    admin = None if settings.es_admin is None else settings.es_admin.get_secret_value()
    key = None if settings.es_api_key is None else settings.es_api_key.get_secret_value()
    return admin, None if admin else key


def _print(requests: list[KeyRequest], settings: Settings) -> None:
    out.print(
        "# Paste these into Kibana's Dev Tools (or set ES_ADMIN=user:password and run this again). Put `encoded` of "
        f"the answer into ES_API_KEY. The keys reach the indices {settings.index_prefix}-* and nothing else.",
        markup=False,
        soft_wrap=True,
    )
    for request in requests:
        note = f" {PAID}." if "query" in str(request.body) else ""
        out.print(f"\n# {request.name}: {request.purpose}.{note}", markup=False, soft_wrap=True)
        out.print(request.as_console(), markup=False, soft_wrap=True, highlight=False)
