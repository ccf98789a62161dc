"""The command line: arguments in, exit codes out. Each command's work is in a module of its own.

Exit codes: 0 done; 1 a sentence on stderr says what was wrong; 2 wrong arguments; 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memory_pipeline import __version__
from memory_pipeline.documents import TIERS
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.interfaces.terminal import err

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Turns the session logs of the coding agent pi into long-term memory.",
)
models_app = typer.Typer(no_args_is_help=True, help="The model files for the llama.cpp that is started here.")
app.add_typer(models_app, name="models")
es_app = typer.Typer(no_args_is_help=True, help="What an Elasticsearch cluster has to have for memories.")
app.add_typer(es_app, name="es")


def _path(text: str) -> Path:
    """An empty name, as of an unset variable, would stand for the current folder."""
    if not text:
        raise typer.BadParameter("an empty name; name a file or a folder")
    return Path(text)


class StoreChoice(StrEnum):
    """The stores by their names in MEMORY_STORE."""

    sqlite = "sqlite"
    elasticsearch = "elasticsearch"


class ServiceChoice(StrEnum):
    """Services behind an inference endpoint, by Elasticsearch's names."""

    jinaai = "jinaai"
    elastic = "elastic"
    openai = "openai"


ExamplesIfNone = Annotated[
    Path | None, typer.Option(help="Where you have no sessions: these, kept apart from yours.", hidden=True)
]


@app.command()
def run(  # noqa: PLR0917  # each is an option
    sessions: Annotated[Path | None, typer.Option(help="Folder of session logs instead of pi's own.")] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="Distil at most this many turns.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would cost: turns, tokens, time.")
    ] = False,
    reembed: Annotated[bool, typer.Option("--reembed", help="Make all vectors anew, for another model.")] = False,
    redistill: Annotated[
        bool, typer.Option("--redistill", help="Distil again what another prompt or model distilled.")
    ] = False,
    older_than: Annotated[
        int | None, typer.Option(min=0, metavar="DAYS", help="With --redistill: only turns that long ago.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="With --redistill: only this project, by its path or its folder's name.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="With --redistill: only what this model made.")] = None,
    examples_if_none: ExamplesIfNone = None,
) -> None:
    """Index what is new, distil what waits. Stop it any time; the next run goes on."""
    if "--examples" in sys.argv and sessions is None and not _knows_examples():
        raise typer.BadParameter("the examples are run by `make run`, or with --sessions DIR", param_hint="--examples")
    if not redistill and (older_than, project, model) != (None, None, None):
        raise typer.BadParameter("--older-than, --project and --model select what --redistill does again")
    from memory_pipeline.interfaces.run import run as command
    from memory_pipeline.interfaces.run_request import RunRequest, selection

    selected = selection(older_than, project, model) if redistill else None
    try:
        code = command(RunRequest(sessions, limit, reembed, examples_if_none, dry_run, selected))
    except KeyboardInterrupt:
        err.print("Stopped. What was done is kept; the next run goes on.")
        code = 130
    raise typer.Exit(code)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What you want to know, in your own words.")],
    k: Annotated[int, typer.Option("-k", min=1, max=1_000, help="How many results.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list.")] = False,
) -> None:
    """Find memories by meaning and by words, and turns that are not distilled yet by words."""
    from memory_pipeline.interfaces.search import search as command

    command(query, k=k, as_json=as_json)


@app.command()
def show(
    doc_id: Annotated[str, typer.Argument(metavar="SESSION|DOC_ID", help="An id that search or export printed.")],
) -> None:
    """A memory with the messages it came from; a turn, a session or a message."""
    from memory_pipeline.interfaces.show import show as command

    command(doc_id)


@app.command()
def inspect(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", parser=_path, help="Session files, or folders of them.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list.")] = False,
) -> None:
    """What is in session files: turns, branches, problems, secrets. Reads them only; no store is touched."""
    from memory_pipeline.interfaces.inspect import inspect as command

    raise typer.Exit(command(paths, as_json=as_json))


@app.command()
def status(as_json: Annotated[bool, typer.Option("--json", help="A JSON object.")] = False) -> None:
    """What is indexed, what waits, what failed, where it all is."""
    from memory_pipeline.interfaces.status import status as command

    command(as_json=as_json)


@app.command()
def audit(
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object.")] = False,
    limits: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="CHECK=NUMBER", help="Another limit: ungrounded=2, duplicates=5%."),
    ] = None,
) -> None:
    """How healthy the memories are; ends with 1 where a check is above its limit."""
    from memory_pipeline.interfaces.audit import audit as command

    raise typer.Exit(command(as_json=as_json, limits=limits or []))


@app.command()
def hide(
    memory_id: Annotated[str | None, typer.Argument(metavar="ID", help="The id of a memory that is wrong.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Put it back.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="What is hidden.")] = False,
) -> None:
    """Take a wrong memory out of every result, and keep it out."""
    if listed == (memory_id is not None) or (listed and undo):
        raise typer.BadParameter("name one memory's ID, or --list")
    from memory_pipeline.interfaces.hide import hidden, undo_hiding
    from memory_pipeline.interfaces.hide import hide as command

    if memory_id is None:
        hidden()
    elif undo:
        undo_hiding(memory_id)
    else:
        command(memory_id)


@app.command()
def export(
    tier: Annotated[str | None, typer.Option(help=f"One of {', '.join(TIERS)}; all without it.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project: its path or its folder's name.")] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Also the memories that are hidden.")] = False,
) -> None:
    """Everything as JSON lines, but for the vectors, in a stable order."""
    from memory_pipeline.interfaces.export import export as command

    if tier is not None and tier not in TIERS:
        raise typer.BadParameter(f"{tier!r} is no tier; one of {', '.join(TIERS)}", param_hint="--tier")
    command(tier=tier, project=project, hidden=hidden)


@app.command()
def redact(
    paths: Annotated[list[Path] | None, typer.Argument(parser=_path, help="Text files, and folders of them.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write copies without secrets into this folder.")] = None,
    store: Annotated[bool, typer.Option("--store", help="Look at all that is stored, and repair it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list (of --store: an object).")] = False,
) -> None:
    """What would be redacted in text files; with --out, copies without it; with --store, the memories repaired."""
    if store:
        from memory_pipeline.interfaces.redact_store import redact_store

        if paths or out:
            raise typer.BadParameter("goes without files and without --out", param_hint="--store")
        redact_store(as_json=as_json)
        return
    from memory_pipeline.interfaces.redact import redact_files

    if not paths:
        raise typer.BadParameter("name a file or a folder", param_hint="PATHS")
    for path in paths:
        if not path.exists():
            raise typer.BadParameter(f"{path} does not exist", param_hint="PATHS")
    redact_files(paths, to=out, as_json=as_json)


@app.command("copy")
def copy_memories(
    source: Annotated[StoreChoice, typer.Option("--from", help="The store to read.")],
    target: Annotated[StoreChoice, typer.Option("--to", help="The store to fill; nothing in it is deleted.")],
) -> None:
    """Copy all memories from one store into another, and check that they got there."""
    from memory_pipeline.interfaces.copy import copy as command

    raise typer.Exit(command(source.value, target.value))


@app.command()
def migrate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> None:
    """Bring an Elasticsearch store to the mapping of this version."""
    from memory_pipeline.interfaces.migrate import migrate as command

    command(dry_run=dry_run)


@app.command()
def doctor() -> None:
    """Try each part and say what to do about what does not work."""
    from memory_pipeline.interfaces.doctor import doctor as command

    raise typer.Exit(command())


@app.command()
def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 3000,
    examples_if_none: ExamplesIfNone = None,
) -> None:
    """Serve Dagster's UI on the same data, with its sensors and schedules at work."""
    from memory_pipeline.interfaces.ui import ui as command

    command(port, examples_if_none)


@app.command(hidden=True)
def write_home() -> None:
    """Add DAGSTER_HOME to .env, so that plain `dagster dev` finds the same history."""
    from memory_pipeline.orchestration.home import prepare_home
    from memory_pipeline.settings import load_settings

    file = Path(".env")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    between = "\n" if text and not text.endswith("\n") else ""
    home = prepare_home(load_settings())  # Dagster does not make it
    file.write_text(f"{text}{between}DAGSTER_HOME={home}\n", encoding="utf-8")


@models_app.command("pull")
def models_pull(
    chat: Annotated[bool, typer.Option("--chat", help="Also the small chat model, which only tests use.")] = False,
) -> None:
    """Fetch the embedding model, checked against its pinned hash."""
    from memory_pipeline.interfaces.models import pull as command

    command(chat=chat)


@es_app.command("setup")
def es_setup(
    project: Annotated[
        str | None, typer.Option(help="Also a key that reads this project alone, by its path (paid licences).")
    ] = None,
    endpoint: Annotated[
        ServiceChoice | None,
        typer.Option(help="Not keys, but the inference endpoint ES_INFERENCE_ID at a service."),
    ] = None,
    memorable: Annotated[
        bool | None,
        typer.Option(
            "--mark-memorable/--no-mark-memorable",
            help="Not keys, but messages marked as they are indexed, or no more.",
        ),
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of the service, as the cluster reaches it.")] = None,
    model: Annotated[str | None, typer.Option(help="The service's model.", show_default="a Jina v5")] = None,
) -> None:
    """API keys with just the rights that are needed: prints what to ask for, or with ES_ADMIN makes them."""
    from memory_pipeline.interfaces import es

    if endpoint is not None:
        es.set_up_endpoint(endpoint.value, url=url, model=model)
        return
    if memorable is not None:
        es.set_up_marks(on=memorable)
        return
    if url is not None or model is not None:
        raise typer.BadParameter("--url and --model are for --endpoint")
    raise typer.Exit(es.set_up_keys(project=project))


def _knows_examples() -> bool:
    from memory_pipeline.interfaces.examples import has_examples
    from memory_pipeline.settings import load_settings

    return has_examples(load_settings())


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memory-pipeline {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001  # its callback does it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
    examples: Annotated[bool, typer.Option("--examples", help="Use the memories of the example sessions.")] = False,
) -> None:
    if examples:
        from memory_pipeline.interfaces.examples import use_examples

        use_examples()


def main() -> None:
    """Run a command; what goes wrong for a reason is one sentence, never a traceback."""
    os.umask(0o077)  # whatever a library writes for us is private too
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another one
    try:
        app()
    except MemoryPipelineError as error:
        _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that closing stdout does not complain
        sys.exit(141)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        where = f" ({error.filename})" if error.filename else ""
        _fail(f"{error.strerror}{where}. Free some space or check the permissions; what was done before is kept.")


def _fail(sentence: str) -> None:
    err.print("[red]Error:[/]", end=" ")
    err.print(sentence, markup=False)
    sys.exit(1)


if __name__ == "__main__":
    main()
