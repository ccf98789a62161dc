"""``memory-pipeline show``: from a memory back to the messages it came from."""

from __future__ import annotations

from collections import Counter

from rich.markup import escape
from rich.table import Table

from memory_pipeline.documents import RawMessage, Summary
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.tracing import TracedMemory, TracedSession, TracedTurn, trace
from memory_pipeline.interfaces.terminal import command_name, out
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store, store_exists

LONGEST = 4_000  # characters of one message on the screen; export has all of them


def show(doc_id: str) -> None:
    settings = load_settings()
    if not store_exists(settings):
        raise InputError(f"There are no memories yet; {command_name()} run makes them.")
    with open_store(settings) as store:
        found = trace(doc_id, store)
    if isinstance(found, TracedMemory):
        if found.hidden_at is not None:
            out.print(f"[yellow]hidden since {found.hidden_at[:10]}[/]; {command_name()} hide --undo {doc_id}")
        _memory(found.memory)
        for message in found.messages:
            if message.copy_of is None:
                _message(message)
        for session_id in dict.fromkeys(message.session_id for message in found.messages if message.copy_of):
            out.print(f"\n[dim]the same in a fork: session {escape(session_id)}[/]")
        for missing in found.missing:
            out.print(f"[red]cites {escape(missing)}, which is not in the store[/]")
    elif isinstance(found, TracedTurn):
        _turn(found)
    elif isinstance(found, TracedSession):
        _session(found)
    else:
        _message(found)


def _memory(memory: Summary) -> None:
    out.print(f"[bold]{escape(memory.summary)}[/]")
    out.print(f"[dim]{' '.join(escape(tag) for tag in memory.tags)}[/]")
    first = memory.source_refs[0]
    for quote in memory.evidence:
        out.print(f"[dim]“{escape(quote)}”[/]")
    out.print(
        f"[dim]established {memory.established_at} · {escape(memory.project)} · by {escape(memory.model)} · "
        f"trust {memory.trust}\nsession {first.session_id}\nturn {first.turn_id}[/]"
    )


def _message(message: RawMessage) -> None:
    name = f" ({message.tool_name})" if isinstance(message.tool_name, str) else ""
    out.print(f"\n[cyan]{message.role}{escape(name)}[/] [dim]{message.message_timestamp} · {message.doc_id}[/]")
    text = message.content
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… {len(text) - LONGEST} more characters: {command_name()} export --tier raw"
    out.print(text, markup=False)


def _turn(traced: TracedTurn) -> None:
    turn, state = traced.turn, traced.turn.distillation
    out.print(f"[bold]turn {turn.turn_index}[/] of session {turn.session_id}")
    out.print(f"[dim]{turn.started_at} to {turn.ended_at} · {escape(turn.project)} · {turn.message_count} messages[/]")
    by = f" by {state.model}" if state.model else ""
    why = f": {state.error}" if state.error else ""
    out.print(f"[dim]distilled: {state.state}{escape(by)}{escape(why)}[/]")
    for reason, times in Counter(state.dropped).items():
        out.print(f"[dim]not kept: {escape(reason)}{f' ({times} times)' if times > 1 else ''}[/]")
    if state.parts > 1:
        out.print(f"[dim]asked about in {state.parts} parts[/]")
    if state.cut_chars:
        out.print(f"[yellow]{state.cut_chars} characters were left out: the model's context is too short for them[/]")
    out.print()
    out.print(turn.text, markup=False)
    for memory in traced.memories:
        out.print(f"\n[bold]memory[/] {memory.doc_id}")
        out.print(memory.summary, markup=False)


def _session(traced: TracedSession) -> None:
    manifest = traced.manifest
    out.print(f"[bold]session {manifest.doc_id}[/]" + (f" {escape(manifest.name)}" if manifest.name else ""))
    out.print(
        f"[dim]{escape(manifest.path)}\n{manifest.format} · {manifest.started_at} to {manifest.ended_at} · "
        f"{escape(manifest.project)} · {manifest.entries} entries, {manifest.messages} messages[/]"
    )
    for problem in manifest.problems:
        out.print(f"[yellow]line {problem.line}: {escape(problem.reason)}[/]")
    table = Table(box=None, pad_edge=False)
    for column in ("turn", "started", "state", "memories"):
        table.add_column(column, overflow="fold")
    for turn in traced.turns:
        memories = "\n".join(f"{m.doc_id}  {m.summary}" for m in turn.memories)
        state = turn.turn.distillation.state + ("" if turn.turn.on_active_path else " (abandoned branch)")
        table.add_row(str(turn.turn.turn_index), turn.turn.started_at[:16], state, escape(memories))
    out.print(table)
