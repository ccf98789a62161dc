"""``memory-pipeline export``: everything as JSON lines on stdout."""

from __future__ import annotations

import json
import sys

from memory_pipeline.documents import TIERS
from memory_pipeline.ingestion.exporting import export as documents
from memory_pipeline.interfaces.terminal import command_name, err
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store, store_exists


def export(*, tier: str | None, project: str | None) -> None:
    settings = load_settings()
    if not store_exists(settings):
        err.print(f"There are no memories yet; {command_name()} run makes them.")
        return
    tiers = (tier,) if tier is not None else tuple(TIERS)
    with open_store(settings) as store:
        for document in documents(store, tiers=tiers, project=project):
            sys.stdout.write(json.dumps(document, ensure_ascii=False, sort_keys=True) + "\n")
    sys.stdout.flush()
