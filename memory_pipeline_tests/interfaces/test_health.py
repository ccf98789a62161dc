"""Audit and hide by their commands."""

from __future__ import annotations

import json

from memory_pipeline.documents import Summary
from memory_pipeline.settings import load_settings
from memory_pipeline.stores import open_store
from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.pi_files import SessionWriter


def remember(command: CommandLine) -> str:
    """One memory; returns its id."""
    SessionWriter(command.sessions).turn(
        "The nightly import keeps dying on the big supplier file. What is going on?",
        "The root cause is the 512 MB memory limit of `import-worker`: `load_rows()` reads the whole CSV at once.",
    )
    command("run")
    (memory,) = command.export("--tier", "summaries")
    return str(memory["doc_id"])


def test_a_sound_store_is_told_so_with_exit_code_0(command: CommandLine) -> None:
    remember(command)
    assert "too many" not in command("audit").stdout
    found = json.loads(command("audit", "--json").stdout)
    assert found["passed"]
    assert found["checks"]["ungrounded"] == {
        "count": 0, "of": 1, "share": 0.0, "limit": 0, "limit_is_share": False, "passed": True, "examples": [],
    }  # fmt: skip


def test_above_a_limit_the_exit_code_is_1_and_a_run_embeds_nothing_that_is_ungrounded(command: CommandLine) -> None:
    memory_id = remember(command)
    with open_store(load_settings(env_file=None, data_dir=command.data)) as store:
        (memory,) = store.scan(Summary)
        store.upsert(Summary, [memory.model_copy(update={"summary": "The limit was raised by Bertha."})])
        store.drop_vectors(Summary)
    result = command("audit", code=1)
    assert memory_id in result.stdout
    assert "too many" in result.stdout
    command("audit", "--limit", "ungrounded=1", "--limit", "missing-vectors=1")
    run = command("run", code=1)
    assert "memories_are_grounded" in run.stderr
    assert "audit" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_wrong_limit_and_an_empty_store_are_told_in_a_sentence(command: CommandLine) -> None:
    assert "There are no memories yet" in command("audit", code=1).stderr
    remember(command)
    assert "CHECK=NUMBER" in command("audit", "--limit", "everything=0", code=1).stderr


def test_a_hidden_memory_is_found_by_nobody_until_it_is_put_back(command: CommandLine) -> None:
    memory_id = remember(command)
    assert "Hidden" in command("hide", memory_id).stdout
    assert json.loads(command("search", "import-worker memory limit", "--json").stdout) == []
    assert command.export("--tier", "summaries") == []
    (shown,) = command.export("--tier", "summaries", "--hidden")
    assert (shown["doc_id"], "hidden_at" in shown) == (memory_id, True)
    assert "hidden since" in command("show", memory_id).stdout
    assert memory_id in command("hide", "--list").stdout
    assert command.status()["memories_hidden"] == 1
    command("run")
    assert command.export("--tier", "summaries") == []
    command("hide", "--undo", memory_id)
    assert "No memory is hidden" in command("hide", "--list").stdout
    command("run")
    found = json.loads(command("search", "why did the overnight job run out of RAM", "--json").stdout)
    assert found[0]["doc_id"] == memory_id


def test_hide_wants_one_id_or_the_list(command: CommandLine) -> None:
    remember(command)
    for arguments in (("hide",), ("hide", "x", "--list"), ("hide", "--list", "--undo")):
        assert "ID" in command(*arguments, code=2).stderr
    assert "No memory has the id" in command("hide", "x", code=1).stderr
