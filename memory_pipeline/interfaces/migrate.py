"""``memory-pipeline migrate``: brings the indices of an Elasticsearch store to this version's mapping."""

from __future__ import annotations

from memory_pipeline.interfaces.locking import only_run
from memory_pipeline.interfaces.terminal import err, out
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_elasticsearch_store


def migrate(*, dry_run: bool) -> None:
    settings = load_settings()
    if settings.store_kind != "elasticsearch":
        out.print("A SQLite store upgrades itself when it is opened; there is nothing to migrate.")
        return
    with only_run(settings), open_elasticsearch_store(settings) as store:
        outdated = store.outdated()
        for alias, fields in outdated.items():
            out.print(f"{alias}: {', '.join(fields)}", markup=False, soft_wrap=True)
        if not outdated:
            out.print("All indices have the mapping of this version.")
        elif dry_run:
            out.print(
                "Each of these would be filled into a new index; until then the old one is read and not written to."
            )
        else:
            store.migrate(lambda alias: err.print(f"Filling the new index of {alias} …", markup=False))
            store.ensure_indices()
            out.print(f"Migrated: {', '.join(outdated)}.", markup=False, soft_wrap=True)
