"""Where copies of files go: never over an original, never two in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.errors import InputError
from memory_pipeline.redaction import Redactor
from memory_pipeline.redaction.files import check_out, redact_file, sources


def put(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_two_files_of_one_name_are_not_copied_over_each_other(tmp_path: Path) -> None:
    paths = [put(tmp_path / "a" / "log.txt"), put(tmp_path / "b" / "log.txt")]
    assert len(list(sources(paths))) == 2
    with pytest.raises(InputError, match=r"log\.txt"):
        check_out(paths, tmp_path / "out")


def test_a_link_in_the_folder_of_copies_does_not_lead_to_an_original(tmp_path: Path, redactor: Redactor) -> None:
    original = put(tmp_path / "src" / "a" / "log.txt", "as it was")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").symlink_to(original.parent)
    (source,) = sources([tmp_path / "src"])
    with pytest.raises(InputError, match="leads out"):
        redact_file(source, redactor, out)
    assert original.read_text() == "as it was"
    assert list(original.parent.iterdir()) == [original]


def test_links_in_a_circle_are_named_and_stop_nothing(tmp_path: Path, redactor: Redactor) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    put(tmp_path / "whole.txt")
    reports = [redact_file(source, redactor, None) for source in sources([tmp_path])]
    assert [report.path.name for report in reports if report.skipped is None] == ["whole.txt"]
