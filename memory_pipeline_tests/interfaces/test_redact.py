"""``memory-pipeline redact`` as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.support.command import CommandLine

TOKEN = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{6}\]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "notes.txt").write_bytes(f"one\r\nDB_PASSWORD={fakes.password()}\r\n\xe9 end".encode("latin-1"))
    rows = [
        {"password": "geheim$parole", "n": 1},
        {"content": f'say "{fakes.token()}"\n{fakes.password()}'},
        {"a": 1.0},
    ]
    (folder / "deep" / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{torn")
    (folder / "key.pem").write_text(f"head\n{fakes.private_key()}\ntail\n")
    (folder / "image.bin").write_bytes(b"\0\1\2")
    return folder


def test_it_shows_kinds_and_lines_and_never_the_secret(command: CommandLine, folder: Path) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    done = command("redact", str(folder))
    listed = json.loads(command("redact", str(folder), "--json").stdout)

    assert "notes.txt" in done.stdout
    assert not any(s in done.stdout + done.stderr for s in (fakes.password(), fakes.token(), "geheim"))
    assert "image.bin" in done.stderr
    rows = {Path(row["path"]).name: row for row in listed}
    assert rows["notes.txt"] | {"path": ""} == {"path": "", "redactions": 1, "kinds": {"password": 1}, "lines": [2]}
    assert rows["s.jsonl"]["lines"][:2] == [1, 2]
    assert rows["key.pem"]["lines"] == [2]
    assert rows["image.bin"]["skipped"] == "binary"
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_copies_keep_names_and_stay_valid(command: CommandLine, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command("redact", str(folder), "--out", str(out))

    notes = (out / "notes.txt").read_bytes()
    assert notes.startswith(b"one\r\nDB_PASSWORD=[redacted:password:")
    assert notes.endswith(b"\r\n\xe9 end")
    lines = (out / "deep" / "s.jsonl").read_text().split("\n")
    rows = [json.loads(line) for line in lines[:3]]
    assert TOKEN.fullmatch(rows[0]["password"])
    assert re.fullmatch(rf'say "{TOKEN.pattern}"\n{fakes.password()}', rows[1]["content"])
    assert (lines[2], lines[3]) == ('{"a": 1.0}', "{torn")
    assert fakes.noise("a3", 64) not in (out / "key.pem").read_text()
    assert not (out / "image.bin").exists()


def test_wrong_paths_are_one_sentence(command: CommandLine, folder: Path) -> None:
    assert "empty name" in command("redact", "", code=2).stderr
    assert "empty name" in command("inspect", "", code=2).stderr
    assert "does not exist" in command("redact", str(folder / "nowhere"), code=2).stderr
    assert "name a file" in command("redact", code=2).stderr
    assert "beside the originals" in command("redact", str(folder), "--out", str(folder / "x"), code=1).stderr
    assert not (folder / "x").exists()
