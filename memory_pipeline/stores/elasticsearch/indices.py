"""The indices of the tiers: versioned, each behind the alias that everything else uses.

``memory-raw`` is an alias of ``memory-raw-v1``. What a later version of the mapping only adds is added in place;
what it changes needs the next index (``memory-raw-v2``), filled from the old one, and the alias moved in one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from elasticsearch import BadRequestError
from elasticsearch.helpers import streaming_bulk

from memory_pipeline.documents import DOCUMENTS, Document
from memory_pipeline.errors import EmbeddingMismatch, StoreError
from memory_pipeline.stores.elasticsearch.connection import Server, Source
from memory_pipeline.stores.elasticsearch.mapping import (
    SETTINGS,
    WORDS,
    language_property,
    properties,
)
from memory_pipeline.stores.elasticsearch.vector_fields import AnyVectorField, DenseVector, SemanticText, as_mapped
from memory_pipeline.stores.vectors import as_floats, encode_vector

MARK = "memory_pipeline"
"""Key of the mapping's ``_meta`` by which an index of ours is known."""


@dataclass(slots=True)
class Index:
    """One tier's index as it stands.

    ``concrete`` is what the alias points to; ``fields`` the names it maps; ``vectors`` how, where it has any, and
    ``dimensions`` how long, where that is known.
    """

    kind: type[Document]
    alias: str
    concrete: str
    fields: set[str]
    vectors: AnyVectorField | None
    dimensions: int | None

    @property
    def languages(self) -> list[str]:
        """The fields that hold text in languages other than English."""
        return sorted(name for name in self.fields if name.startswith(f"{WORDS}_"))

    @property
    def version(self) -> int:
        return int(self.concrete.rpartition("-v")[2])


class Indices:
    """The indices behind one prefix; what is in them is read once, when they are ensured.

    With an ``inference_id`` vectors are made by that endpoint of the cluster.
    """

    def __init__(self, server: Server, prefix: str, inference_id: str | None = None) -> None:
        self._server = server
        self._inference_id = inference_id
        self.aliases = {kind: f"{prefix}-{kind.index}" for kind in DOCUMENTS}
        self._found: dict[type[Document], Index] = {}

    def __getitem__(self, kind: type[Document]) -> Index:
        if kind not in self._found:
            self._look([kind])
        if kind not in self._found:
            raise StoreError(f"There is no index {self.aliases[kind]} at {self._server.place} yet; a run makes it.")
        return self._found[kind]

    def look_again(self, kind: type[Document]) -> Index:
        """As it is now: others may have mapped more of it."""
        self._found.pop(kind, None)
        return self[kind]

    def exist(self) -> bool:
        """Whether any of them is there."""
        found = self._server(
            self._server.client.indices.exists_alias, name=list(self.aliases.values()), allow_no_indices=True
        )
        return bool(found)

    def outdated(self) -> dict[type[Document], list[str]]:
        """The tiers whose index is mapped otherwise than this version maps it, each with the fields."""
        found: dict[type[Document], list[str]] = {}
        for kind in self.aliases:
            self._look([kind], found)
        return found

    def ensure(self) -> None:
        """Make what is missing, and add new fields. StoreError for what is not ours, or has to be migrated."""
        self._look(list(self.aliases))
        for kind, alias in self.aliases.items():
            if kind not in self._found:
                self._create(f"{alias}-v1", kind, {alias: {"is_write_index": True}})
        missing = [kind for kind in self.aliases if kind not in self._found]
        if missing:
            self._look(missing)

    def add_vectors(self, kind: type[Document], dimensions: int) -> None:
        """Map the vector's field, if it is not yet. EmbeddingMismatch where it is mapped for another maker."""
        assert kind.vector_field is not None
        index = self[kind]
        wanted = self._vector_field(kind.vector_field)
        if index.vectors is None:
            self._map(index.alias, wanted.name, wanted.mapping(dimensions))
            index.fields.add(wanted.name)
            index.vectors, index.dimensions = wanted, dimensions
        elif index.vectors != wanted:
            raise EmbeddingMismatch(
                f"{index.alias} holds {_told(index.vectors)}, but the settings ask for {_told(wanted)}; set "
                "MEMORY_EMBEDDINGS back, or make all vectors anew with: memory-pipeline run --reembed"
            )

    def _vector_field(self, name: str) -> AnyVectorField:
        return DenseVector(name) if self._inference_id is None else SemanticText(name, self._inference_id)

    def add_language(self, kind: type[Document], field: str) -> None:
        self._add(kind, field, language_property(field.removeprefix(f"{WORDS}_")))

    def rebuild(self, kind: type[Document], change: Callable[[Source], Source], dimensions: int | None = None) -> None:
        """Fill the next index with what ``change`` makes of each document, then move the alias to it.

        Readers see the old index until then. It takes no writes meanwhile: who tries is told so, and tries again later.
        Stopped at any point, the old index is still the one that counts; run again, it begins anew.
        """
        index = self[kind]
        following = f"{index.alias}-v{index.version + 1}"
        client = self._server.client
        self._server(client.indices.delete, index=following, ignore_unavailable=True)  # of a rebuild that was stopped
        self._create(following, kind, {})
        if dimensions is not None and index.vectors is not None:
            self._map(following, index.vectors.name, index.vectors.mapping(dimensions))
        for field in index.languages:
            self._map(following, field, language_property(field.removeprefix(f"{WORDS}_")))
        self._pass_pipeline_on(index.concrete, following)
        self._block(index.concrete, True)
        self._server(client.indices.refresh, index=index.concrete)
        try:
            self._copy(index, following, change)
            self._server(client.indices.refresh, index=following)
            self._check_whole(index, following)
        except BaseException:
            self._block(index.concrete, False)
            raise
        moved: list[dict[str, Any]] = [
            {"add": {"index": following, "alias": index.alias, "is_write_index": True}},
            {"remove_index": {"index": index.concrete}},
        ]
        self._server(client.indices.update_aliases, actions=moved)
        del self._found[kind]

    def _pass_pipeline_on(self, concrete: str, following: str) -> None:
        """Documents go through the same ingest pipeline in the new index as in the old one."""
        name = "index.default_pipeline"
        client = self._server.client
        told = self._server(client.indices.get_settings, index=concrete, flat_settings=True)
        pipeline = told[concrete]["settings"].get(name)
        if pipeline is not None:
            self._server(client.indices.put_settings, index=following, settings={name: pipeline})

    def _check_whole(self, index: Index, following: str) -> None:
        """The old index is removed next: never for one that another machine's rebuild made anew meanwhile."""
        held, filled = (self._server(self._server.client.count, index=name) for name in (index.concrete, following))
        if filled["count"] != held["count"]:
            raise StoreError(
                f"{following} at {self._server.place} holds {filled['count']} of the {held['count']} documents of "
                f"{index.concrete}, which stays; see that nobody else migrates or re-embeds, then run again."
            )

    def _map(self, concrete: str, field: str, mapped: Mapping[str, Any]) -> None:
        self._server(self._server.client.indices.put_mapping, index=concrete, properties={field: dict(mapped)})

    def _block(self, concrete: str, on: bool) -> None:
        settings = {"index.blocks.write": True if on else None}
        self._server(self._server.client.indices.put_settings, index=concrete, settings=settings)

    def _copy(self, index: Index, following: str, change: Callable[[Source], Source]) -> None:
        client = self._server.client

        def run() -> None:
            actions = (
                {"_op_type": "index", "_index": following, "_id": doc_id, "_source": change(source)}
                for doc_id, source in self._everything(index)
            )
            for ok, item in streaming_bulk(client, actions, max_retries=4, raise_on_error=False):
                if not ok:
                    [result] = item.values()
                    raise StoreError(f"Document {result['_id']} of {index.alias} could not be copied to {following}.")

        self._server(run)

    def _everything(self, index: Index) -> Iterator[tuple[str, Source]]:
        client = self._server.client
        pit = self._server(client.open_point_in_time, index=index.concrete, keep_alive="5m")["id"]
        after: list[Any] | None = None
        try:
            while True:
                page = self._server(
                    client.search,
                    pit={"id": pit, "keep_alive": "5m"},
                    sort=["_shard_doc"],
                    size=100,
                    search_after=after,
                    fields=None if index.vectors is None else index.vectors.fetched,
                    track_total_hits=False,
                    allow_partial_search_results=False,
                )
                pit = page["pit_id"]
                hits = page["hits"]["hits"]
                yield from ((hit["_id"], _with_vector(index, hit)) for hit in hits)
                if len(hits) < 100:
                    return
                after = hits[-1]["sort"]
        finally:
            self._server(client.close_point_in_time, id=pit)

    def _add(self, kind: type[Document], field: str, mapped: Mapping[str, Any]) -> None:
        index = self[kind]
        if field not in index.fields:
            self._map(index.alias, field, mapped)
            index.fields.add(field)

    def _create(self, name: str, kind: type[Document], aliases: Mapping[str, Any]) -> None:
        mappings = {"dynamic": "strict", "_meta": {MARK: {"tier": kind.index}}, "properties": properties(kind)}

        def create() -> None:
            try:
                self._server.client.indices.create(
                    index=name, aliases=dict(aliases), mappings=mappings, settings=dict(SETTINGS)
                )
            except BadRequestError as error:
                if error.error != "resource_already_exists_exception":  # another process was faster
                    raise

        self._server(create)

    def _look(self, kinds: list[type[Document]], outdated: dict[type[Document], list[str]] | None = None) -> None:
        """Read what is there; an index that has to be migrated is noted in ``outdated``, else it is a StoreError."""
        wanted = {self.aliases[kind]: kind for kind in kinds}
        found = self._server(
            self._server.client.indices.get, index=list(wanted), ignore_unavailable=True, allow_no_indices=True
        )
        for concrete, body in found.items():
            alias = next((name for name in body["aliases"] if name in wanted), None)
            kind = wanted.get(alias or concrete)
            if kind is None:
                continue
            self._check(kind, concrete, body["mappings"])
            mapped = body["mappings"].get("properties", {})
            name = kind.vector_field
            vectors = None if name is None or name not in mapped else as_mapped(name, mapped[name])
            dims = None if vectors is None else mapped[vectors.name].get("dims")
            self._found[kind] = Index(kind, self.aliases[kind], concrete, set(mapped), vectors, dims)
            if changed := _changed(properties(kind), mapped):
                if outdated is None:
                    del self._found[kind]
                    raise StoreError(
                        f"The index {self.aliases[kind]} at {self._server.place} has another mapping than this version "
                        f"of memory-pipeline ({', '.join(changed)}); run: memory-pipeline migrate."
                    )
                outdated[kind] = changed
                continue
            if lacking := _lacking(properties(kind), mapped):
                self._server(self._server.client.indices.put_mapping, index=concrete, properties=lacking)
                self._found[kind].fields.update(lacking)

    def _check(self, kind: type[Document], concrete: str, mappings: Mapping[str, Any]) -> None:
        alias = self.aliases[kind]
        mark = mappings.get("_meta", {}).get(MARK)
        if (
            not isinstance(mark, Mapping)
            or mark.get("tier") != kind.index
            or not re.fullmatch(re.escape(alias) + r"-v\d+", concrete)
        ):
            raise StoreError(
                f"The index {concrete} at {self._server.place} was not made by memory-pipeline; it is left as it is. "
                "Set MEMORY_INDEX_PREFIX to another prefix."
            )


def _with_vector(index: Index, hit: Mapping[str, Any]) -> Source:
    """The document as it can be written again: vectors that the cluster made come along in its own notation."""
    source: Source = dict(hit["_source"])
    if isinstance(index.vectors, DenseVector) and (numbers := index.vectors.numbers(hit)) is not None:
        source[index.vectors.name] = as_floats(encode_vector(numbers))
    return source


def _told(field: AnyVectorField) -> str:
    if isinstance(field, SemanticText):
        return f"vectors made by the inference endpoint {field.inference_id}"
    return "vectors made outside of Elasticsearch"


def _lacking(wanted: Mapping[str, Any], mapped: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not there yet, those inside of objects too, as they can be added to the mapping."""
    found: dict[str, Any] = {}
    for name, value in wanted.items():
        if name not in mapped:
            found[name] = value
        elif "properties" in value and (inside := _lacking(value["properties"], mapped[name].get("properties", {}))):
            found[name] = {"properties": inside}
    return found


def _changed(wanted: Mapping[str, Any], mapped: Mapping[str, Any], path: str = "") -> list[str]:
    """The fields that are there already, but mapped otherwise."""
    found: list[str] = []
    for name, value in wanted.items():
        there = mapped.get(name)
        if there is None:
            continue
        for key in ("type", "analyzer", "copy_to", "index", "doc_values", "fields", "format"):
            if key in value and str(value[key]) != str(there.get(key, _DEFAULTS.get(key))):
                found.append(path + name)
                break
        if "properties" in value:
            found += _changed(value["properties"], there.get("properties", {}), f"{path}{name}.")
    return found


_DEFAULTS: Mapping[str, Any] = {"index": True, "doc_values": True}
