"""Settings: where they come from, what a wrong one says, and that the example file tells the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.errors import SettingsError
from memory_pipeline.settings import env_example, load_settings, variables


def test_nothing_set_runs_everything_on_a_bare_laptop(tmp_path: Path) -> None:
    settings = load_settings()
    assert (settings.store_kind, settings.distiller_kind, settings.embeddings) == ("sqlite", "extractive", "embedded")
    assert settings.data_dir == tmp_path / "home" / ".local" / "share" / "memory-pipeline"


@pytest.mark.parametrize(
    ("given", "store", "distiller"),
    [
        ({"ES_URL": "http://localhost:9200"}, "elasticsearch", "extractive"),
        ({"ES_URL": "http://localhost:9200", "MEMORY_STORE": "sqlite"}, "sqlite", "extractive"),
        ({"LLAMA_URL": "http://localhost:8080/v1"}, "sqlite", "llm"),
        ({"MEMORY_CHAT_GGUF": "model.gguf"}, "sqlite", "llm"),
        ({"LLAMA_URL": "http://localhost:8080", "MEMORY_DISTILLER": "extractive"}, "sqlite", "extractive"),
    ],
)
def test_servers_that_are_named_are_used_unless_overridden(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], store: str, distiller: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (settings.store_kind, settings.distiller_kind) == (store, distiller)
    assert settings.embeddings == "embedded"


def test_the_environment_beats_the_env_file_and_empty_values_count_as_unset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("LLAMA_MODEL=from-file\nLLAMA_URL=\nMEMORY_SETTLE_SECONDS=5\n")
    monkeypatch.setenv("LLAMA_MODEL", "from-environment")
    settings = load_settings()
    assert (settings.llama_model, settings.llama_url, settings.settle_seconds) == ("from-environment", None, 5.0)


def test_every_wrong_value_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_STORE", "mongodb")
    monkeypatch.setenv("LLAMA_CONTEXT", "big")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "MEMORY_STORE" in str(caught.value)
    assert "LLAMA_CONTEXT" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_keys_are_not_shown() -> None:
    settings = load_settings(es_api_key="the-key-itself")
    assert "the-key-itself" not in repr(settings)


def test_folders_may_start_with_a_tilde_and_lists_are_separated_by_commas(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMORY_SESSIONS_DIR", "~/logs")
    monkeypatch.setenv("MEMORY_EXCLUDE_PROJECTS", "~/a, /b ,")
    settings = load_settings()
    assert settings.sessions_dir == tmp_path / "home" / "logs"
    assert settings.exclude_projects == (tmp_path / "home" / "a", Path("/b"))


def test_a_data_folder_named_for_one_command_has_its_own_history(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("DAGSTER_HOME=/somewhere/else\n")
    assert load_settings().dagster_home == Path("/somewhere/else")
    monkeypatch.setenv("MEMORY_DATA_DIR", str(tmp_path / "mine"))
    assert load_settings().dagster_home == tmp_path / "mine" / "dagster"


def test_the_example_file_lists_every_setting_commented_out(project: Path) -> None:
    text = (project / ".env.example").read_text()
    assert text == env_example()
    assert not [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_defaults_in_the_example_file_are_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "all.env"
    file.write_text("".join(f"{name}={value}\n" for name, value, _, _ in variables() if value is not None))
    assert load_settings(env_file=file) == load_settings(env_file=None)
