"""``memory-pipeline hide``: a wrong memory out of every result, the list of those, and back again."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.markup import escape

from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.hiding import all_hidden, unhide
from memory_pipeline.ingestion.hiding import hide as hide_in
from memory_pipeline.interfaces.terminal import command_name, out
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store, store_exists


def hide(memory_id: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with open_store(_settings()) as store:
        hidden = hide_in(memory_id, store=store, now=now)
    out.print(f"Hidden: {escape(hidden.memory.summary)}")
    out.print(f"It stays so through every run; {command_name()} hide --undo {memory_id} puts it back.", markup=False)


def undo_hiding(memory_id: str) -> None:
    with open_store(_settings()) as store:
        shown = unhide(memory_id, store=store)
    out.print(f"Put back: {escape(shown.memory.summary)}")
    out.print(f"It is found by its words now, and by its meaning after the next {command_name()} run.", markup=False)


def hidden() -> None:
    with open_store(_settings()) as store:
        notes = all_hidden(store)
    if not notes:
        out.print("No memory is hidden.")
    for note in notes:
        out.print(f"[bold]{escape(note.memory.summary)}[/]")
        out.print(f"    [dim]{note.memory.doc_id} · hidden {note.hidden_at[:10]} · {escape(note.memory.project)}[/]")


def _settings() -> Settings:
    settings = load_settings()
    if not store_exists(settings):
        raise InputError(f"There are no memories yet; {command_name()} run makes them.")
    return settings
