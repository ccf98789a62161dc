"""``memory-pipeline es setup``: what a cluster has to have for memories: keys, and on request an inference endpoint."""

from __future__ import annotations

from memory_pipeline.errors import SettingsError, StoreError
from memory_pipeline.interfaces.terminal import out
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores.elasticsearch.keys import PAID, KeyRequest, key_requests, make_key


def setup(*, project: str | None) -> int:
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
