"""Everything of one store into another, and the proof that it got there.

Can be stopped at any point: run again, it finds what is there already and goes on. Nothing is ever deleted: what the
target holds beyond the source stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from memory_pipeline.documents import DOCUMENTS, Document, Meta
from memory_pipeline.stores.admission import EMBEDDING_MODEL, canonical_json
from memory_pipeline.stores.contract import MemoryStore, Refused, SelfEmbedding

_NOTE = "embedding:"
"""Whose vectors a store holds is noted by the store itself."""


@dataclass(slots=True)
class Copied:
    """What became of one index, in documents; ``source`` and ``target`` are hashes of the same documents there."""

    index: str
    documents: int = 0
    written: int = 0
    further: int = 0
    """That only the target holds."""
    missing: int = 0
    """That the target does not hold, or not as they are in the source."""
    source: str = ""
    target: str = ""
    refused: list[Refused] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        return self.source == self.target


def copy_store(source: MemoryStore, target: MemoryStore, watch: Callable[[int], None]) -> list[Copied]:
    """Copy every tier, vectors included; ``watch`` gets the number of documents done, now and then.

    Vectors of another model than the target holds are refused with their documents. A target that makes its own
    vectors gets none: the next run has it make them.
    """
    vectors = not isinstance(target, SelfEmbedding)
    found: list[Copied] = []
    for kind in DOCUMENTS:
        copied = Copied(kind.index)

        def counted(copied: Copied = copied, kind: type[Document] = kind) -> Iterator[Document]:
            for document in _documents(source, kind, vectors):
                copied.documents += 1
                watch(1)
                yield document

        result = target.upsert(kind, counted())
        copied.written, copied.refused = result.written, list(result.refused)
        target.refresh()
        _compare(copied, _documents(source, kind, vectors), _documents(target, kind, vectors))
        found.append(copied)
    return found


def _documents(store: MemoryStore, kind: type[Document], vectors: bool) -> Iterator[Document]:
    """By id, with or without their vectors."""
    for document in store.scan(kind, vectors=vectors):
        if kind is Meta and document.doc_id.startswith(_NOTE):
            continue
        without_model = kind.vector_field is not None and not vectors
        yield document.model_copy(update={EMBEDDING_MODEL: None}) if without_model else document


def _compare(copied: Copied, wanted: Iterator[Document], there: Iterator[Document]) -> None:
    """Both come in the order of their ids, so they are compared side by side, a page of each in memory."""
    source, target = hashlib.sha256(), hashlib.sha256()
    other = next(there, None)
    for document in wanted:
        while other is not None and _order(other) < _order(document):
            copied.further += 1
            other = next(there, None)
        source.update(_content(document))
        if other is None or other.doc_id != document.doc_id:
            copied.missing += 1
            continue
        target.update(_content(other))
        copied.missing += _content(other) != _content(document)
        other = next(there, None)
    while other is not None:
        copied.further += 1
        other = next(there, None)
    copied.source, copied.target = source.hexdigest(), target.hexdigest()


def _order(document: Document) -> bytes:
    return document.doc_id.encode()


def _content(document: Document) -> bytes:
    return canonical_json(document.model_dump()).encode()
