from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_pipeline.sessions import discover, project_of
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.sessions.logs import header, write


def test_a_folder_inside_a_repository_belongs_to_its_root(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src" / "deep").mkdir(parents=True)

    assert project_of(str(tmp_path / "repo" / "src" / "deep")) == str(tmp_path / "repo")
    assert project_of(f"{tmp_path}/repo/src/../") == str(tmp_path / "repo")


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    assert project_of(str(tmp_path)) == str(tmp_path)


def make_worktree(tmp_path: Path, git_dir: str) -> Path:
    """What ``git worktree add ../tree`` leaves on disk."""
    private = tmp_path / git_dir / "worktrees" / "tree"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {private}\n")
    return tree


def test_a_worktree_counts_as_its_main_repository(tmp_path: Path) -> None:
    tree = make_worktree(tmp_path, "main/.git")

    assert project_of(str(tree / "src")) == str(tmp_path / "main")


def test_a_worktree_of_a_bare_repository_counts_as_that(tmp_path: Path) -> None:
    assert project_of(str(make_worktree(tmp_path, "main.git"))) == str(tmp_path / "main.git")


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".git" / "modules" / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")

    assert project_of(str(tmp_path / "sub")) == str(tmp_path / "sub")


@pytest.mark.timeout(20)
def test_a_broken_pointer_leaves_the_folder_itself(tmp_path: Path) -> None:
    for name, content in {"a": b"", "b": b"gitdir: /nowhere\n", "c": b"\xff\xfe", "d": b"gitdir: \0"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_bytes(content)
        assert project_of(str(tmp_path / name)) == str(tmp_path / name)
    private = tmp_path / "private"
    private.mkdir()
    os.mkfifo(private / "commondir")
    (tmp_path / "b" / ".git").write_text(f"gitdir: {private}\n")
    assert project_of(str(tmp_path / "b")) == str(tmp_path / "b")


@pytest.mark.parametrize(
    "cwd", ["", "relative/path", "/no/such/folder", "/a\0b", "C:\\work\\app", "/x" * 5_000, "/\ud83d"]
)
def test_a_folder_that_is_not_here_stays_as_it_is(cwd: str) -> None:
    assert project_of(cwd) == cwd


def test_a_worktree_of_an_excluded_project_is_excluded(tmp_path: Path) -> None:
    tree = make_worktree(tmp_path, "main/.git")
    write(tmp_path / "root" / "x_s1.jsonl", header(cwd=str(tree / "src")))
    chosen = load_settings(env_file=None, sessions_dir=tmp_path / "root", exclude_projects=(tmp_path / "main",))

    assert discover(chosen).excluded == 1
