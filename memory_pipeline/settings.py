"""Every environment variable of the project, once, with its default and its meaning.

Values come from the environment, then from ``.env`` in the working directory. Nobody else reads ``os.environ``.
``.env.example`` is generated from here (a test holds them together).
"""

from __future__ import annotations

import os
import platform
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from platformdirs import user_data_path
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from tzlocal import get_localzone_name

from memory_pipeline.errors import SettingsError

StoreName = Literal["sqlite", "elasticsearch"]
EmbeddingsName = Literal["embedded", "llama", "elasticsearch"]
DistillerName = Literal["llm", "extractive"]
Paths = Annotated[tuple[Path, ...], NoDecode]
Names = Annotated[tuple[str, ...], NoDecode]

RECALLED_BLOCKS = (
    "memory",
    "memories",
    "recalled-memory",
    "recalled-memories",
    "relevant-memories",
    "retrieved-memories",
    "user-memories",
    "project-memories",
    "injected-memory",
    "long-term-memory",
    "memory-context",
    "memory-recall",
    "memory-bank",
    "claude-mem-context",
    "supermemory-context",
    "hindsight-memories",
)
"""Names of the blocks that memory tools, this one first, put recalled text in; ``-`` and ``_`` are alike."""


def _default_data_dir() -> Path:
    return user_data_path("memory-pipeline", appauthor=False)


def _default_models_dir(data: dict[str, Any]) -> Path:
    folder: Path = data.get("data_dir") or _default_data_dir()
    return folder / "models"


def _path(text: str) -> Path:
    """Absolute, without ``..``, links kept; ``~`` is the home folder, and stays where there is none."""
    return Path(os.path.abspath(_home(text)))  # noqa: PTH100  # pathlib would resolve links


def _home(text: str) -> str:
    """``~`` as the home folder, left as it is where there is none."""
    return os.path.expanduser(text)  # noqa: PTH111  # pathlib's raises


def _variable(name: str, default: Any, meaning: str, *, shown: str | None = None, **limits: Any) -> Any:
    """A field read from the variable ``name``; ``shown`` is the default as people should read it."""
    kind = "default_factory" if callable(default) else "default"
    limits[kind] = default
    return Field(
        validation_alias=AliasChoices(name),
        description=meaning,
        json_schema_extra={"variable": name, "shown": shown},
        **limits,
    )


class Settings(BaseSettings):
    """The settings of one process. Build it with :func:`load_settings`, which turns mistakes into sentences."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
        populate_by_name=True,
    )

    # Where the logs are
    sessions_dir: Path | None = _variable(
        "MEMORY_SESSIONS_DIR", None, "folder of the session logs", shown="as pi resolves it: ~/.pi/agent/sessions"
    )
    pi_session_dir: Path | None = _variable(
        "PI_CODING_AGENT_SESSION_DIR", None, "the sessions folder by pi's own variable", shown="unset"
    )
    pi_agent_dir: Path | None = _variable(
        "PI_CODING_AGENT_DIR", None, "the agent folder by pi's own variable", shown="~/.pi/agent"
    )
    exclude_folders: Paths = _variable(
        "MEMORY_EXCLUDE_FOLDERS",
        (),
        "folders below the sessions folder to leave out, separated by commas",
        shown="none",
    )
    exclude_projects: Paths = _variable(
        "MEMORY_EXCLUDE_PROJECTS",
        (),
        "projects to leave out, by path or folder name, separated by commas",
        shown="none",
    )
    settle_seconds: float = _variable(
        "MEMORY_SETTLE_SECONDS", 30.0, "a file this long without a write is indexed by the sensor", ge=0, lt=1e9
    )
    idle_seconds: float = _variable(
        "MEMORY_IDLE_SECONDS", 600.0, "a session this long without a write counts as over", ge=0, lt=1e9
    )

    # Where the memories go
    data_dir: Path = _variable(
        "MEMORY_DATA_DIR",
        _default_data_dir,
        "folder of the store, the model files and Dagster's history",
        shown="the platform's: ~/.local/share/memory-pipeline on Linux",
    )
    dagster_folder: Path | None = _variable(
        "DAGSTER_HOME", None, "folder of Dagster's history; absolute", shown="dagster in MEMORY_DATA_DIR"
    )
    models_dir: Path = _variable(
        "MEMORY_MODELS_DIR",
        _default_models_dir,
        "folder of the model files that `models pull` fetches",
        shown="models in MEMORY_DATA_DIR",
    )
    store: StoreName | None = _variable(
        "MEMORY_STORE", None, "the store: sqlite or elasticsearch", shown="elasticsearch if ES_URL is set, else sqlite"
    )
    es_url: str | None = _variable("ES_URL", None, "address of an Elasticsearch server", shown="unset")
    es_api_key: SecretStr | None = _variable("ES_API_KEY", None, "API key for ES_URL", shown="unset")
    es_admin: SecretStr | None = _variable(
        "ES_ADMIN", None, "user:password of somebody who may make API keys; only `es setup` uses it", shown="unset"
    )
    es_inference_id: str = _variable(
        "ES_INFERENCE_ID",
        "memory-embeddings",
        "inference endpoint of the cluster that makes the vectors, with MEMORY_EMBEDDINGS=elasticsearch",
        min_length=1,
    )
    es_inference_key: SecretStr | None = _variable(
        "ES_INFERENCE_KEY",
        None,
        "key of the service behind the inference endpoint; only `es setup --endpoint` uses it",
        shown="unset",
    )
    index_prefix: str = _variable(
        "MEMORY_INDEX_PREFIX", "memory", "what index names start with", pattern=r"^[a-z][a-z0-9_-]*$"
    )
    origin: str = _variable(
        "MEMORY_ORIGIN", platform.node, "name of this machine on what it indexes", shown="the host name", min_length=1
    )
    timezone: str = _variable(
        "MEMORY_TIMEZONE", "local", "zone of days and of the nightly schedule, such as Europe/Berlin"
    )
    message_cap: int = _variable(
        "MEMORY_MESSAGE_CAP",
        1_048_576,
        "longest message kept whole, in characters, at most 4194304; of longer ones head and tail",
        ge=1_000,
        le=4_194_304,
    )

    # Redacting
    redact_patterns: Path | None = _variable(
        "MEMORY_REDACT_PATTERNS",
        None,
        "file of further secrets to redact: a regular expression a line, with or without `name: ` before it",
        shown="unset",
    )
    redact_allow: Path | None = _variable(
        "MEMORY_REDACT_ALLOW",
        None,
        "file of values that are never redacted: one a line, as it is or as /regular expression/",
        shown="unset",
    )

    # Distilling
    distiller: DistillerName | None = _variable(
        "MEMORY_DISTILLER",
        None,
        "the engine: llm or extractive",
        shown="llm if LLAMA_URL or MEMORY_CHAT_GGUF is set, else extractive",
    )
    llama_url: str | None = _variable(
        "LLAMA_URL", None, "address of an OpenAI-compatible chat server, with or without /v1", shown="unset"
    )
    llama_model: str | None = _variable(
        "LLAMA_MODEL", None, "chat model to ask for", shown="the first that the server's /v1/models reports"
    )
    llama_api_key: SecretStr | None = _variable(
        "LLAMA_API_KEY", None, "key for LLAMA_URL, if it wants one", shown="unset"
    )
    llama_context: int | None = _variable(
        "LLAMA_CONTEXT",
        None,
        "tokens of prompt and answer together",
        shown="what the server reports, else 8192",
        ge=1_024,
    )
    llama_timeout: float = _variable("LLAMA_TIMEOUT", 600.0, "seconds to wait for one answer", gt=0, lt=1e6)
    llama_parallel: int = _variable(
        "LLAMA_PARALLEL", 1, "answers to ask for at a time; as many as the server has slots (--parallel)", ge=1, le=64
    )
    chat_gguf: Path | None = _variable(
        "MEMORY_CHAT_GGUF",
        None,
        "chat model file (GGUF) to run llama.cpp with here, instead of a server",
        shown="unset",
    )

    recalled_blocks: Names = _variable(
        "MEMORY_RECALLED_BLOCKS",
        RECALLED_BLOCKS,
        "blocks of recalled text, as in <memory>…</memory>, that nobody said: names, separated by commas",
    )

    redistill_limit: int = _variable(
        "MEMORY_REDISTILL_LIMIT",
        100,
        "extracted turns, newest first, that one run lets a model do again once there is one",
        ge=0,
    )

    # Embeddings
    embeddings: EmbeddingsName = _variable(
        "MEMORY_EMBEDDINGS",
        "embedded",
        "what embeds: embedded (llama.cpp, started here), llama (a server) or elasticsearch (its inference endpoint)",
    )
    embeddings_url: str | None = _variable(
        "MEMORY_EMBEDDINGS_URL", None, "address of the embedding server, with or without /v1", shown="LLAMA_URL"
    )
    embeddings_model: str | None = _variable(
        "MEMORY_EMBEDDINGS_MODEL", None, "embedding model to ask for", shown="the first that the server reports"
    )
    embeddings_dims: int | None = _variable(
        "MEMORY_EMBEDDINGS_DIMS",
        None,
        "length of the vectors; longer ones are cut (Matryoshka), so name fewer only for a model that allows it",
        shown="what it sends",
        ge=1,
    )
    embeddings_gguf: Path | None = _variable(
        "MEMORY_EMBEDDINGS_GGUF",
        None,
        "embedding model file (GGUF) to run llama.cpp with here",
        shown="what `models pull` fetched",
    )

    @field_validator("exclude_folders", "exclude_projects", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(_home(part.strip())) for part in value.split(",") if part.strip())
        return value

    @field_validator("recalled_blocks", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip(" <>/") for part in value.split(",") if part.strip(" <>/"))
        return value

    @field_validator(
        "sessions_dir",
        "pi_session_dir",
        "pi_agent_dir",
        "data_dir",
        "dagster_folder",
        "models_dir",
        "redact_patterns",
        "redact_allow",
        "chat_gguf",
        "embeddings_gguf",
        mode="after",
    )
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return None if value is None else _path(str(value))

    @field_validator("es_url", "llama_url", "embeddings_url", mode="after")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value.startswith(("http://", "https://")) or not value.split("://", 1)[1].strip("/"):
            raise ValueError("must be an address such as http://localhost:8080")
        return value.rstrip("/")

    @field_validator("timezone", mode="after")
    @classmethod
    def _zone(cls, value: str) -> str:
        if value != "local":
            try:
                ZoneInfo(value)
            except (KeyError, ValueError, OSError):
                raise ValueError("is no time zone; write local or a name such as Europe/Berlin") from None
        return value

    @model_validator(mode="after")
    def _llm_needs_a_model(self) -> Self:
        if self.distiller == "llm" and not (self.llama_url or self.chat_gguf):
            raise ValueError("MEMORY_DISTILLER: is llm, but no model is named; set LLAMA_URL or MEMORY_CHAT_GGUF")
        return self

    @model_validator(mode="after")
    def _elasticsearch_embeds_its_own(self) -> Self:
        if self.embeddings == "elasticsearch" and (self.store_kind != "elasticsearch" or self.es_url is None):
            raise ValueError("MEMORY_EMBEDDINGS: is elasticsearch, but memories are not kept there; set ES_URL")
        return self

    @cached_property
    def agent_dir(self) -> Path:
        """pi's agent folder."""
        return self.pi_agent_dir or Path.home() / ".pi" / "agent"

    @property
    def store_kind(self) -> StoreName:
        return self.store or ("elasticsearch" if self.es_url else "sqlite")

    @property
    def distiller_kind(self) -> DistillerName:
        return self.distiller or ("llm" if self.llama_url or self.chat_gguf else "extractive")

    @property
    def store_path(self) -> Path:
        """The SQLite store's file."""
        return self.data_dir / f"{self.index_prefix}.db"

    @property
    def store_place(self) -> str:
        """Where the store is or will be, for people."""
        on_server = self.store_kind == "elasticsearch" and self.es_url is not None
        return without_credentials(self.es_url or "") if on_server else str(self.store_path)

    @property
    def dagster_home(self) -> Path:
        """Where Dagster keeps its history."""
        return self.dagster_folder or self.data_dir / "dagster"

    @property
    def zone(self) -> str:
        """The time zone's IANA name."""
        return get_localzone_name() if self.timezone == "local" else self.timezone


def without_credentials(url: str) -> str:
    """The address as people may see it."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def load_settings(*, env_file: Path | str | None = ".env", **overrides: Any) -> Settings:
    """Settings from the environment and ``env_file``; ``overrides`` are field names and win.

    Raises SettingsError: one sentence that names each variable with a value that can't be used.
    """
    if "MEMORY_DATA_DIR" in os.environ and "DAGSTER_HOME" not in os.environ:
        overrides.setdefault("dagster_folder", None)  # a data folder named for one command has its own history
    try:
        return Settings(_env_file=env_file, **overrides)
    except ValidationError as error:
        raise SettingsError("; ".join(_sentences(error))) from None
    except UnicodeDecodeError:
        raise SettingsError(f"{env_file} is not UTF-8 text; save it as UTF-8.") from None


def variables() -> list[tuple[str, str | None, str, str]]:
    """(variable, its default as a value or None, the default in words, meaning) of every setting, in order."""
    rows: list[tuple[str, str | None, str, str]] = []
    for field in Settings.model_fields.values():
        extra = field.json_schema_extra
        if isinstance(extra, dict):
            value = None if extra["shown"] else _plain(field.default)
            rows.append((str(extra["variable"]), value, str(extra["shown"] or value), field.description or ""))
    return rows


def env_example() -> str:
    """The text of ``.env.example``: every variable, commented out, with its default and its meaning."""
    lines = ["# Settings of memory-pipeline. Copy this file to .env and uncomment what you want to change."]
    for variable, value, words, meaning in variables():
        default = f" (default: {words})" if value is None else ""
        lines += ["", f"# {meaning[0].upper()}{meaning[1:]}{default}", f"# {variable}={value or ''}"]
    return "\n".join(lines) + "\n"


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentences(error: ValidationError) -> list[str]:
    names = {
        name: str((field.json_schema_extra or {})["variable"])  # type: ignore[index]
        for name, field in Settings.model_fields.items()
    }
    sentences = []
    for item in error.errors():
        where = str(item["loc"][0]) if item["loc"] else ""
        reason = str(item["msg"]).removeprefix("Value error, ")
        if not where:
            sentences.append(reason)
            continue
        given = "" if "key" in where.lower() or where == "es_admin" else f" (it is {str(item['input'])!r})"
        sentences.append(f"{names.get(where, where)}: {reason[0].lower()}{reason[1:]}{given}")
    return sentences
