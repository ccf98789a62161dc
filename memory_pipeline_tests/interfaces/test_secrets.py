"""No secret of a session gets into the home: not into the store, not into Dagster's storage, not into a log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from memory_pipeline_tests.redaction.fakes import password, token
from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import SessionWriter


def holding(command: CommandLine, secrets: list[str]) -> Iterator[str]:
    """The files of the home that hold one of these, the sessions themselves aside."""
    for path in command.home.rglob("*"):
        if path.is_file() and command.sessions not in path.parents:
            data = path.read_bytes()
            yield from (f"{path} holds secret {n}" for n, secret in enumerate(secrets) if secret.encode() in data)


def test_nothing_of_what_the_labelled_set_plants_is_found_after_a_run(
    command: CommandLine, shared_data: Path, tmp_path: Path
) -> None:
    evalset = shared_data / "evalset"
    subprocess.run([sys.executable, str(evalset / "unpack.py"), str(tmp_path / "set")], check=True)
    command.sessions.parent.mkdir(parents=True)
    (tmp_path / "set" / "sessions").rename(command.sessions)
    secrets = [value[::-1] for value in json.loads((evalset / "planted.json").read_text()).values()]
    assert all(any(s in path.read_text() for path in command.sessions.rglob("*.jsonl")) for s in secrets)
    command("run")
    assert list(holding(command, secrets)) == []
    assert sum(message["redactions"] for message in command.export("--tier", "raw")) >= len(secrets)
    assert json.loads(command("redact", "--store", "--json").stdout)["repaired"] == {}


def test_a_secret_in_a_path_a_name_or_a_broken_line_is_not_found_after_a_run(command: CommandLine) -> None:
    secrets = [token(letter) for letter in "abcdef"] + [password("g")]
    session = SessionWriter(command.sessions, cwd=f"/home/ann/{secrets[0]}").turn(f"Take {secrets[1]}.", "Done.")
    session.message(
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": f"X={secrets[2]}"}}],
            "model": f"model-{secrets[3]}",
            "stopReason": "toolUse",
        }
    )
    session.message({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": f"no {secrets[4]}"})
    session.message({"role": "user", "content": f"export DB_PASSWORD={secrets[6]}"})
    folder = command.sessions / f"--{secrets[5]}--"
    folder.mkdir()
    (folder / "broken.jsonl").write_text(f'{{"type":"session","id":"t","cwd":"/{secrets[5]}"}}\n{secrets[5]} {{torn\n')
    (folder / "none.jsonl").write_text('{"type":"user","parentUuid":null}\n')
    command("run")
    assert list(holding(command, secrets)) == []
    assert command.status()["sessions"] >= 2
