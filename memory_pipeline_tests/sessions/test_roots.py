from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from memory_pipeline.errors import InputError
from memory_pipeline.sessions import discover, list_files, session_file
from memory_pipeline.settings import Settings, load_settings
from memory_pipeline_tests.sessions.logs import header, user, write


def settings(**overrides: object) -> Settings:
    return load_settings(env_file=None, **overrides)


def write_session(folder: Path, name: str = "one_s1.jsonl") -> Path:
    return write(folder / name, header(), user("a", None)).path


def found(chosen: Settings) -> list[Path]:
    return [file.path for file in discover(chosen).files]


def test_the_strongest_setting_names_the_folder(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    by_default = write_session(agent / "sessions" / "--p--")
    by_pi = write_session(tmp_path / "pi's")
    by_variable = write_session(tmp_path / "variable")
    by_setting = write_session(tmp_path / "setting")

    assert found(settings(pi_agent_dir=agent)) == [by_default]
    (agent / "settings.json").write_text(json.dumps({"sessionDir": str(by_pi.parent)}))
    assert found(settings(pi_agent_dir=agent)) == [by_pi]
    assert found(settings(pi_agent_dir=agent, pi_session_dir=by_variable.parent)) == [by_variable]
    chosen = settings(pi_agent_dir=agent, pi_session_dir=by_variable.parent, sessions_dir=by_setting.parent)
    assert found(chosen) == [by_setting]


@pytest.mark.parametrize("text", ["{broken", "[]", '{"sessionDir": 5}', '{"sessionDir": " "}', "\ufffd", "[" * 5_000])
def test_broken_settings_of_pi_are_passed_over(tmp_path: Path, text: str) -> None:
    path = write_session(tmp_path / "sessions")
    (tmp_path / "settings.json").write_text(text, encoding="utf-8")

    assert found(settings(pi_agent_dir=tmp_path)) == [path]


def test_a_relative_session_dir_is_taken_from_the_agent_folder(tmp_path: Path) -> None:
    path = write_session(tmp_path / "mine" / "sessions")
    (tmp_path / "settings.json").write_text('{"sessionDir": "mine/sessions"}')

    assert found(settings(pi_agent_dir=tmp_path)) == [path]


def test_sessions_beside_the_default_folder_count_and_only_there(tmp_path: Path) -> None:
    inside = write_session(tmp_path / "sessions", "in_s1.jsonl")
    stray = write_session(tmp_path, "stray_s1.jsonl")
    write_session(tmp_path / "elsewhere", "no_s1.jsonl")

    assert sorted(found(settings(pi_agent_dir=tmp_path))) == sorted([inside, stray])
    assert found(settings(pi_agent_dir=tmp_path, sessions_dir=tmp_path / "sessions")) == [inside]
    assert {path for path, _, _ in list_files(settings(pi_agent_dir=tmp_path))} == {inside, stray}
    by_discover = {file.path: file.session_id for file in discover(settings(pi_agent_dir=tmp_path)).files}
    assert session_file(stray, settings(pi_agent_dir=tmp_path)).session_id == by_discover[stray]


def test_a_missing_folder_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not exist\. Start pi once, or set MEMORY_SESSIONS_DIR"):
        discover(settings(sessions_dir=tmp_path / "none"))
    with pytest.raises(InputError, match="pi's default"):
        list_files(settings(pi_agent_dir=tmp_path))


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a file"):
        discover(settings(sessions_dir=write_session(tmp_path)))


def test_a_folder_without_permission_is_an_error_of_its_own(
    open_folder: Path, as_someone: AbstractContextManager[None]
) -> None:
    write_session(open_folder / "root")
    (open_folder / "root").chmod(0)

    with as_someone, pytest.raises(InputError, match="no permission"):
        discover(settings(sessions_dir=open_folder / "root"))


def test_an_empty_folder_holds_no_sessions(tmp_path: Path) -> None:
    assert discover(settings(sessions_dir=tmp_path)).files == ()
