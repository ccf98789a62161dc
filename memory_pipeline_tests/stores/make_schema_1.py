"""How ``data/schema-1.db`` was made: a store as schema 1 kept it, filled with invented documents.

Written out in full and tied to nothing else in this package, so that it stays what it is while the code moves on.
Run ``python -m memory_pipeline_tests.stores.make_schema_1 FILE`` to make it again.

Schema 1 had no tables of keys and fewer indexes than later ones; documents, full-text indexes and vectors were as now.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec

TEXT_FIELDS = {
    "raw": ("content", "cwd", "project"),
    "turns": ("project", "text"),
    "daily-logs": ("project", "text"),
    "summary": ("summary", "tags", "project"),
    "entities": ("name", "aliases", "description", "project"),
    "facts": ("statement", "source", "project"),
    "sessions": ("cwd", "project"),
    "mentions": ("project",),
    "session-facts": ("project",),
    "meta": (),
}
INDEXED = {
    "raw": ("session_id", "turn_id", "content_sha256"),
    "turns": ("session_id", "distillation.state", "distillation.fingerprint", "started_at"),
    "daily-logs": ("expires_at", "day"),
    "summary": ("established_at",),
    "entities": ("type",),
    "facts": ("invalid_at",),
    "sessions": ("project", "started_at"),
}
MODEL = "invented-embedder"
PROJECT = "/home/robin/work/orchard"
AT = "2026-03-02T08:09:10.111Z"
Fields = dict[str, Any]


def vector(number: int) -> list[float]:
    """One of eight directions at right angles to each other."""
    return [1.0 if place == number else 0.0 for place in range(8)]


def refs(session_id: str, *turns: int) -> list[Fields]:
    return [{"session_id": session_id, "turn_id": f"{session_id}_{n}", "doc_id": f"{session_id}_{n}_0"} for n in turns]


def raw(session_id: str, turn: int, content: str) -> Fields:
    return {
        "doc_id": f"{session_id}_{session_id}_{turn}_0", "session_id": session_id, "turn_id": f"{session_id}_{turn}",
        "turn_index": turn, "message_index": 0, "role": "user", "content": content, "tool_name": None,
        "session_started_at": AT, "message_timestamp": AT, "model": None, "provider": None, "entry_id": f"e{turn}",
        "parent_entry_id": None, "on_active_path": True, "kind": "message", "cwd": PROJECT, "project": PROJECT,
        "origin": "desk", "is_error": False, "truncated_chars": 0, "thinking_chars": 0, "redactions": 0,
        "content_sha256": f"sha-{session_id}-{turn}", "copy_of": None,
    }  # fmt: skip


def turn(session_id: str, number: int, text: str, state: str) -> Fields:
    return {
        "doc_id": f"{session_id}_{number}", "session_id": session_id, "turn_id": f"{session_id}_{number}",
        "turn_index": number, "project": PROJECT, "origin": "desk", "source_refs": refs(session_id, number),
        "text": f"user: {text}", "started_at": AT, "ended_at": AT, "message_count": 1,
        "fingerprint": f"print-{session_id}-{number}", "on_active_path": True, "copy_of": None, "language": "en",
        "distillation": {
            "state": state, "fingerprint": None, "engine": None, "prompt_version": None, "model": None, "attempts": 1,
            "error": None, "memories": 1, "cut_chars": 0, "prompt_tokens": 0, "completion_tokens": 0, "seconds": 0.5,
        },
    }  # fmt: skip


def summary(number: int, text: str, tags: list[str], source_refs: list[Fields]) -> Fields:
    return {
        "doc_id": f"summary-{number}", "summary": text, "tags": tags, "source_refs": source_refs,
        "established_at": AT, "summarized_at": AT, "model": "extractive-1", "project": PROJECT, "origin": "desk",
        "evidence": [text], "language": "en", "trust": "user", "prompt_version": "1",
    }  # fmt: skip


ORCHARD = [
    "The orchard has nine Boskoop trees.",
    "The press is cleaned with citric acid.",
    "Wasps are kept away by the walnut tree.",
    "Cider ferments in the stone cellar at twelve degrees.",
    "Der Zaun am Bach wird im Frühjahr erneuert.",
]
DOCUMENTS: dict[str, list[Fields]] = {
    "raw": [raw(s, n, text) for s in ("2026-03-01_a-b", "2026-03-02 c,d") for n, text in enumerate(ORCHARD)],
    "turns": [turn("2026-03-01_a-b", n, text, "stored" if n else "pending") for n, text in enumerate(ORCHARD)],
    "summary": [
        summary(n, text, ["orchard", f"tag-{n}"], refs("2026-03-01_a-b", n) + refs("2026-03-02 c,d", *[n] * (n == 3)))
        for n, text in enumerate(ORCHARD)
    ],
    "daily-logs": [
        {
            "doc_id": "log-0", "day": "2026-03-02", "project": PROJECT, "source_refs": refs("2026-03-01_a-b", 0),
            "text": ORCHARD[0], "message_timestamp": AT, "expires_at": "2026-04-01T00:00:00.000Z",
        },
    ],
    "entities": [
        {
            "doc_id": "entity-0", "type": "thing", "label": "tree", "name": "Boskoop", "aliases": ["Belle de Boskoop"],
            "description": "an apple", "project": PROJECT, "source_refs": refs("2026-03-02 c,d", 0),
            "first_seen": AT, "last_seen": AT, "mentions": 2,
        },
    ],
    "facts": [
        {
            "doc_id": f"fact-{n}", "statement": statement, "kind": "place", "source": "2026-03-01_a-b, turn 3",
            "confidence": 0.5, "project": PROJECT, "source_refs": refs(session_id, 3), "created_at": AT,
            "valid_from": AT, "invalid_at": invalid_at, "superseded_by": None, "former_ids": ["old-fact"],
            "evidence": [],
        }
        for n, (statement, session_id, invalid_at) in enumerate(
            [("Cider ferments in the barn.", "2026-03-01_a-b", AT), ("It does in the cellar.", "2026-03-02 c,d", None)]
        )
    ],
    "meta": [
        {"doc_id": "embedding:facts", "value": {"model": MODEL, "dimensions": 8}},
        {"doc_id": "embedding:summary", "value": {"model": MODEL, "dimensions": 8}},
    ],
}  # fmt: skip
VECTORS = {"summary": {1: vector(0), 2: vector(1), 4: vector(2), 5: vector(3)}, "facts": {2: vector(4)}}
"""Index → row id (from 1, in the order above) → vector; the third summary and the first fact have none."""


def make(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.pragma("page_size", 1024)  # for a small file
    db.pragma("journal_mode", "WAL")
    with db:
        for index, fields in TEXT_FIELDS.items():
            _make_tier(db, index, fields)
            for document in DOCUMENTS.get(index, []):
                _insert(db, index, fields, document)
            if index in VECTORS:
                table = f'"memory-{index}-vectors"'
                db.execute(f"CREATE VIRTUAL TABLE {table} USING vec0(embedding float[8] distance_metric=cosine)")
                for row_id, numbers in VECTORS[index].items():
                    db.execute(
                        f"INSERT INTO {table} (rowid, embedding) VALUES (?, ?)", (row_id, struct.pack("<8f", *numbers))
                    )
        db.pragma("application_id", 0x6D656D70)
        db.pragma("user_version", 1)
    db.close()


def _make_tier(db: apsw.Connection, index: str, fields: tuple[str, ...]) -> None:
    db.execute(
        f'CREATE TABLE "memory-{index}" '
        "(id INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL UNIQUE, body TEXT NOT NULL) STRICT"
    )
    for name in INDEXED.get(index, ()):
        steps = "".join(f'."{step}"' for step in name.split("."))
        db.execute(f"""CREATE INDEX "memory-{index}-{name}" ON "memory-{index}" (json_extract(body, '${steps}'))""")
    if fields:
        columns = ", ".join(f'"{name}"' for name in fields)
        text = f'"memory-{index}-text"'
        db.execute(
            f"CREATE VIRTUAL TABLE {text} USING fts5"
            f"({columns}, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        db.execute(f"INSERT INTO {text} ({text}, rank) VALUES ('secure-delete', 1)")


def _insert(db: apsw.Connection, index: str, fields: tuple[str, ...], document: Fields) -> None:
    body = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    db.execute(f'INSERT INTO "memory-{index}" (doc_id, body) VALUES (?, ?)', (document["doc_id"], body))
    if fields:
        row_id = db.last_insert_rowid()
        values = [document[name] for name in fields]
        texts = ["\n".join(value) if isinstance(value, list) else value for value in values]
        places = ", ".join("?" * len(fields))
        db.execute(
            f'INSERT INTO "memory-{index}-text" (rowid, {", ".join(fields)}) VALUES (?, {places})', (row_id, *texts)
        )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
