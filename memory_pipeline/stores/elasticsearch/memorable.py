"""An ingest pipeline that marks messages that are likely worth remembering, for people who look at them in Kibana.

Optional: nothing of this package reads the mark. It is a script with words of decisions, rules, causes and fixes; a
cluster with an inference processor can have a pipeline of its own under the same name.
"""

from __future__ import annotations

from typing import Any

from memory_pipeline.documents import RawMessage
from memory_pipeline.stores.elasticsearch.connection import Server
from memory_pipeline.stores.elasticsearch.mapping import MEMORABLE

_WORDS = (
    "decided", "decision", "we chose", "let's go with", "from now on", "always ", "never ", "remember", "prefer",
    "convention", "must not", "don't use", "instead of", "because", "root cause", "the cause", "turns out", "fixed",
    "the fix", "workaround", "listens on", "lives in", "is pinned",
    "entschieden", "ab jetzt", "immer ", "niemals", "merk dir", "lieber", "statt ", "weil ", "ursache", "behoben",
)  # fmt: skip
_SHORTEST, _LONGEST = 20, 20_000
"""Characters: what is shorter says nothing alone, what is longer was pasted."""
_SCRIPT = f"""
boolean said = (ctx.role == 'user' || ctx.role == 'assistant') && ctx.kind == 'message';
String text = ctx.content == null ? '' : ctx.content;
boolean likely = false;
if (said && text.length() >= {_SHORTEST} && text.length() <= {_LONGEST}) {{
  String lower = text.toLowerCase();
  for (word in params.words) {{ if (lower.contains(word)) {{ likely = true; break }} }}
}}
ctx.{MEMORABLE} = likely;
"""


def pipeline_name(prefix: str) -> str:
    return f"{prefix}-memorable"


def pipeline_body() -> dict[str, Any]:
    """Of ``PUT /_ingest/pipeline/{name}``."""
    script = {"lang": "painless", "source": _SCRIPT, "params": {"words": list(_WORDS)}, "ignore_failure": True}
    return {"description": "Marks messages that are likely worth remembering", "processors": [{"script": script}]}


def switch_on(server: Server, prefix: str) -> int:
    """Have messages marked as they are indexed, and those that are there now; returns how many these were.

    Needs the rights manage_ingest_pipelines and, on the indices, manage and write. Raises StoreError.
    """
    name, alias = pipeline_name(prefix), f"{prefix}-{RawMessage.index}"
    client = server.client
    server(client.ingest.put_pipeline, id=name, **pipeline_body())
    server(client.indices.put_settings, index=alias, settings={"index.default_pipeline": name})
    done = server(
        server.patient.update_by_query, index=alias, pipeline=name, conflicts="proceed", refresh=True, slices="auto"
    )
    return int(done["updated"])


def switch_off(server: Server, prefix: str) -> None:
    """Mark no more; marks that are there stay."""
    client = server.client
    settings = {"index.default_pipeline": None}
    server(client.indices.put_settings, index=f"{prefix}-{RawMessage.index}", settings=settings)
    server(client.ingest.delete_pipeline, id=pipeline_name(prefix))
