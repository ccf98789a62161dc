"""``memory-pipeline copy``: all memories from one store into another, checked at the end."""

from __future__ import annotations

from rich.progress import Progress
from rich.table import Table

from memory_pipeline.documents import DOCUMENTS
from memory_pipeline.errors import InputError
from memory_pipeline.ingestion.copying import Copied, copy_store
from memory_pipeline.interfaces.locking import only_run
from memory_pipeline.interfaces.terminal import command_name, err, out
from memory_pipeline.settings import StoreName, load_settings
from memory_pipeline.stores import SelfEmbedding, open_store, store_exists


def copy(source: StoreName, target: StoreName) -> int:
    """1 where the two are not equal at the end."""
    settings = load_settings()
    if source == target:
        raise InputError("--from and --to name the same store; name two.")
    from_settings = settings.model_copy(update={"store": source})
    if not store_exists(from_settings):
        raise InputError(f"There is nothing to copy at {from_settings.store_place}.")
    to_settings = settings.model_copy(update={"store": target})
    with only_run(settings), open_store(from_settings) as old, open_store(to_settings) as new:
        total = sum(old.count(kind) for kind in DOCUMENTS)
        with Progress(console=err) as progress:
            task = progress.add_task("documents", total=total)
            copied = copy_store(old, new, lambda number: progress.advance(task, number))
        out.print(_table(copied))
        for one in copied:
            for refused in one.refused[:5]:
                err.print(f"{one.index}: {refused.doc_id} was refused: {refused.field} {refused.reason}", markup=False)
        if all(one.is_equal for one in copied):
            out.print(f"{new.location} holds all that {old.location} holds.", markup=False, soft_wrap=True)
            if isinstance(new, SelfEmbedding):
                out.print(f"It makes its own vectors: the next {command_name()} run has it make what is missing.")
            return 0
    err.print("The two stores are not equal; nothing was deleted. Look at what was refused, then run this again.")
    return 1


def _table(copied: list[Copied]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("index", "documents", "written", "only in the target", "check"):
        table.add_column(column, justify="left" if column in ("index", "check") else "right")
    for one in copied:
        check = f"equal {one.source[:12]}" if one.is_equal else f"{one.missing} missing or differing"
        table.add_row(one.index, str(one.documents), str(one.written), str(one.further), check)
    return table
