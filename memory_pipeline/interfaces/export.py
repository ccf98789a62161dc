"""``memory-pipeline export``: everything as JSON lines on stdout."""

from __future__ import annotations

import json
import sys

from memory_pipeline.documents import TIERS
from memory_pipeline.ingestion.exporting import export as documents
from memory_pipeline.interfaces.terminal import command_name, err
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store, store_exists

LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\u0085\u2028\u2029"}
"""What many readers take for the end of a line and JSON leaves as it is; inside a string the escape means the same."""


def export(*, tier: str | None, project: str | None, hidden: bool) -> None:
    settings = load_settings()
    if not store_exists(settings):
        err.print(f"There are no memories yet; {command_name()} run makes them.")
        return
    tiers = (tier,) if tier is not None else tuple(TIERS)
    with open_store(settings) as store:
        for document in documents(store, tiers=tiers, project=project, hidden=hidden):
            line = json.dumps(document, ensure_ascii=False, sort_keys=True)
            sys.stdout.buffer.write(line.translate(LINE_ENDS).encode() + b"\n")  # JSON is UTF-8 on any terminal
    sys.stdout.buffer.flush()
