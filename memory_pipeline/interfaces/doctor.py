"""``memory-pipeline doctor``: each part tried, one line each, with the remedy."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

from rich.markup import escape

from memory_pipeline.embedders import open_embedder
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.ingestion.catalog import Catalog
from memory_pipeline.ingestion.status import store_status
from memory_pipeline.interfaces.terminal import out, size, without_credentials
from memory_pipeline.models import open_chat, probe_server, same_model
from memory_pipeline.models.contract import Abilities, ChatModel
from memory_pipeline.models.installed import verify
from memory_pipeline.private import private_folder
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline.stores import open_store, store_exists

COMMON_LLAMA = "http://localhost:8080"
COMFORTABLE_CONTEXT = 4_096


@dataclass(frozen=True, slots=True)
class Finding:
    """``ok`` None: works, but there is something to know."""

    part: str
    ok: bool | None
    sentence: str


def doctor() -> int:
    """Print a line per part; returns 1 if one does not work."""
    failed = False
    for finding in findings(load_settings()):
        sign = {True: "[green]ok[/]  ", None: "[yellow]note[/]", False: "[red]fail[/]"}[finding.ok]
        failed = failed or finding.ok is False
        out.print(f"{sign} [bold]{finding.part}[/] {escape(finding.sentence)}")
    return int(failed)


def findings(settings: Settings) -> Iterator[Finding]:
    """Try the parts in the order that a run needs them."""
    parts: dict[str, Callable[[Settings], Finding]] = {
        "sessions": _sessions,
        "data folder": _data,
        "redaction": _redaction,
        "store": _store,
        "embeddings": _embeddings,
        "distilling": _distilling,
        "Dagster": _dagster,
    }
    yield Finding("Python", True, f"{platform.python_version()} on {platform.platform(terse=True)}")
    for part, check in parts.items():
        try:
            yield check(settings)
        except MemoryPipelineError as error:
            yield Finding(part, False, str(error))


def _sessions(settings: Settings) -> Finding:
    found = Catalog(settings).discovery
    total = sum(file.size for file in found.files)
    extra = f"; {len(found.refused)} other files are left out" if found.refused else ""
    return Finding("sessions", bool(found.files) or None, f"{len(found.files)} ({size(total)}) in {found.root}{extra}")


def _data(settings: Settings) -> Finding:
    folder = private_folder(settings.data_dir)
    return Finding("data folder", True, f"{folder}, {size(shutil.disk_usage(folder).free)} free")


def _redaction(settings: Settings) -> Finding:
    started = time.perf_counter()
    Catalog(settings).redactor.redact("nothing secret")  # builds the rules, which test themselves
    return Finding("redaction", True, f"rules loaded and tested in {time.perf_counter() - started:.1f} s")


def _store(settings: Settings) -> Finding:
    if not store_exists(settings):
        return Finding("store", None, f"nothing stored yet; it will be {settings.store_place}")
    with open_store(settings) as store:
        status = store_status(store, settings.distiller_kind)
    return Finding(
        "store",
        True,
        f"{status.location}: {status.sessions} sessions, {status.turns} turns, {status.memories} memories",
    )


def _embeddings(settings: Settings) -> Finding:
    if settings.embeddings == "embedded" and settings.embeddings_gguf is None:
        for file in verify(settings):
            if file.problem:
                return Finding("embeddings", False, file.problem)
    with closing(open_embedder(settings)) as embedder:
        embedder.embed(["warm up"])
        started = time.perf_counter()
        embedder.embed(["How long does one short text take?"])
        seconds = time.perf_counter() - started
        return Finding(
            "embeddings", True, f"{embedder.model}, {embedder.dimensions} dimensions, {seconds * 1000:.0f} ms a text"
        )


def _distilling(settings: Settings) -> Finding:
    if settings.distiller_kind == "llm":
        with closing(open_chat(settings)) as chat:
            where = without_credentials(settings.llama_url) if settings.llama_url else f"{settings.chat_gguf}, run here"
            can = [f"{chat.model} at {where}", f"context of {chat.context_tokens} tokens", *_abilities(chat.abilities)]
            remedies = list(_remedies(chat, settings))
            return Finding("distilling", not remedies or None, "; ".join([", ".join(can), *remedies]))
    server = probe_server(COMMON_LLAMA)
    if server is not None:
        return Finding(
            "distilling",
            None,
            f"by extraction, but a llama.cpp server answers on {COMMON_LLAMA} ({', '.join(server.models[:3])}): "
            f"set LLAMA_URL={COMMON_LLAMA} to distil with it",
        )
    return Finding(
        "distilling", True, "by extraction, no model needed; set LLAMA_URL to distil with your own llama.cpp"
    )


def _abilities(abilities: Abilities) -> list[str]:
    shapes = {"schema": "keeps to a JSON schema", "json_object": "answers with JSON", "words": "is asked in words only"}
    thinking = {"none": "does not think aloud", "off": "kept from thinking aloud", "on": "thinks aloud"}
    return [shapes[abilities.shape], thinking[abilities.thinking]]


def _remedies(chat: ChatModel, settings: Settings) -> Iterator[str]:
    """What a person can do about what the server can't."""
    abilities = chat.abilities
    if abilities.shape != "schema":
        yield "no schema is enforced, so more answers will be unusable: llama.cpp's llama-server enforces them"
    if abilities.thinking == "on":
        yield "thinking costs time and can't be switched off by request: start llama-server with --reasoning-budget 0"
    if abilities.context_tokens is None and settings.llama_context is None:
        yield "the server does not tell its context: set LLAMA_CONTEXT if it is another"
    elif abilities.context_tokens is not None and (settings.llama_context or 0) > abilities.context_tokens:
        yield f"LLAMA_CONTEXT is {settings.llama_context}, but the server takes no more than {abilities.context_tokens}"
    if chat.context_tokens < COMFORTABLE_CONTEXT:
        yield f"long turns take many calls: start the server with a context of {COMFORTABLE_CONTEXT} tokens or more"
    if abilities.answers_as is not None and not same_model(abilities.answers_as, chat.model):
        yield f"it answers as {abilities.answers_as}: set LLAMA_MODEL if that is not the model you want"


def _dagster(settings: Settings) -> Finding:
    from memory_pipeline.orchestration.history import dead_runs, latest_runs  # noqa: PLC0415  # takes a second to import

    dead = dead_runs(settings)
    count = len(latest_runs(settings, 1_000))
    if dead:
        return Finding("Dagster", None, f"{len(dead)} runs died with their process; the next run or sensor ends them")
    return Finding("Dagster", True, f"{count} runs in {settings.dagster_home}")
