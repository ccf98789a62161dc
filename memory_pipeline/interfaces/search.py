"""``memory-pipeline search``: ranked memories, each with where it came from."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing

from rich.markup import escape

from memory_pipeline.embedders import open_embedder
from memory_pipeline.errors import ModelError
from memory_pipeline.interfaces.terminal import command_name, err, out
from memory_pipeline.retrieval import Found
from memory_pipeline.retrieval import search as search_store
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store, store_exists


def search(query: str, *, k: int, as_json: bool) -> None:
    """Print the ``k`` best; what kept the search from using vectors goes to stderr."""
    settings = load_settings()
    if not store_exists(settings):
        _say_nothing(as_json, f"There are no memories yet; {command_name()} run makes them.")
        return
    with ExitStack() as stack:
        embedder, no_model = None, None
        try:
            embedder = stack.enter_context(closing(open_embedder(settings)))
        except ModelError as error:
            no_model = str(error)
        result = search_store(stack.enter_context(open_store(settings)), embedder, query, k=k)
    if why := no_model or result.degraded:
        err.print(f"[yellow]Searched by words only:[/] {escape(why)}")
    if as_json:
        out.print_json(json.dumps([_as_dict(found) for found in result.found], ensure_ascii=False))
        return
    if not result.found:
        out.print("Nothing found.")
    for place, found in enumerate(result.found, 1):
        out.print(f"[bold]{place:2}. {escape(found.snippet)}[/]")
        out.print(f"    [dim]{found.tier} · {found.when[:10]} · {escape(found.project)} · score {found.score:.2f}[/]")
        out.print(f"    [dim]session {found.session_id}  turn {found.turn_index}[/]")
        out.print(f"    [dim]{command_name()} show {found.document.doc_id}[/]")


def _say_nothing(as_json: bool, sentence: str) -> None:
    if as_json:
        out.print("[]", markup=False)
    else:
        out.print(sentence, markup=False)


def _as_dict(found: Found) -> dict[str, object]:
    hidden = {kind} if (kind := type(found.document).vector_field) else set()
    return {
        "tier": found.tier,
        "score": round(found.score, 6),
        "session_id": found.session_id,
        "turn_id": found.turn_id,
        "turn_index": found.turn_index,
        "snippet": found.snippet,
        **found.document.model_dump(mode="json", exclude=hidden),
    }
