"""The package as it is shipped."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from memory_pipeline import __version__


@pytest.mark.timeout(900)
def test_the_wheel_installs_into_an_empty_environment_and_runs(project: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, project], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "memory_pipeline/orchestration/dagster.yaml" in names
    assert "memory_pipeline/py.typed" in names
    assert not [name for name in names if "tests" in name]
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(project / "constraints.txt"), str(wheel)], check=True)
    program = environment / "bin" / "memory-pipeline"
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert version.stdout.strip() == f"memory-pipeline {__version__}"
    empty = subprocess.run([program, "status"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert "no memories" in empty.stdout


def test_every_dependency_is_pinned_and_no_registry_is_named(project: Path) -> None:
    lines = (project / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", pin) for pin in pins)
    pinned = {pin.split("==")[0].lower().replace("_", "-") for pin in pins}
    metadata = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    declared = metadata["dependencies"] + metadata["optional-dependencies"]["dev"]
    names = {re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-") for requirement in declared}
    assert names <= pinned
