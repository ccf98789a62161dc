from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.errors import SettingsError
from memory_pipeline.redaction import RULES_VERSION, Redacted, Redactor, load_custom
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.redaction.rules import KEY, cache_folder


def test_patterns_and_exceptions_of_the_user_count(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "patterns").write_text("# ours\nticket: CORP-(\\d{6})\n\nübung[äö]\\d+\n")
    (tmp_path / "allow").write_text(f"{fakes.password()}\n/gh._.*/\n")
    custom = load_custom(tmp_path / "patterns", tmp_path / "allow")
    redactor = Redactor(cache_folder(tmp_path_factory), KEY, custom)

    assert redactor.redact("see CORP-123456").text.startswith("see CORP-[redacted:ticket:")
    assert redactor.redact("é übungä12").kinds == {"custom": 1}
    allowed = f"{fakes.token()} DB_PASSWORD={fakes.password()}"
    assert redactor.redact_many([allowed]) == [Redacted(allowed, 0)]
    assert redactor.redact(f"DB_PASSWORD={fakes.password('b')}").count == 1


@pytest.mark.parametrize(
    ("patterns", "words"),
    [("fine\\d\nbad(", ["line 2", "bad("]), ("x*", ["line 1", "empty"])],
)
def test_a_bad_pattern_is_named_with_file_and_line(tmp_path: Path, patterns: str, words: list[str]) -> None:
    path = tmp_path / "patterns"
    path.write_text(patterns)

    with pytest.raises(SettingsError) as caught:
        load_custom(path, None)
    assert all(word in str(caught.value) for word in [*words, str(path)])


def test_a_missing_file_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="MEMORY_REDACT_ALLOW"):
        load_custom(None, tmp_path / "nowhere")


def test_the_version_changes_with_what_the_user_sets(tmp_path: Path) -> None:
    (tmp_path / "patterns").write_text("a\\d+")
    plain = Redactor(tmp_path, KEY)
    own = Redactor(tmp_path, KEY, load_custom(tmp_path / "patterns", None))

    assert plain.rules_version == RULES_VERSION
    assert own.rules_version.startswith(RULES_VERSION + "-")
