"""The audit as asset checks: what must not be found blocks the tier that would make it found."""

from __future__ import annotations

import dagster as dg
import pytest

from memory_pipeline.documents import Summary
from memory_pipeline.orchestration.checks import AUDIT_JOB
from memory_pipeline.orchestration.jobs import ENRICH_JOB, INDEX_JOB
from memory_pipeline_tests.orchestration.workplace import Workplace
from memory_pipeline_tests.support.scripted_server import ScriptedServer, chat_completion

CHAT = "/v1/chat/completions"


def verdicts(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {found.check_name: found.passed for found in result.get_asset_check_evaluations()}


@pytest.fixture
def key(workplace: Workplace, server: ScriptedServer) -> str:
    """A session that is indexed and enriched."""
    session = workplace.session("a").session_id
    workplace.run(INDEX_JOB, session)
    assert workplace.run(ENRICH_JOB, session).success
    return session


def spoil(workplace: Workplace, **fields: object) -> str:
    """Change the only memory; returns its id."""
    with workplace.store() as store:
        (memory,) = store.scan(Summary)
        store.upsert(Summary, [memory.model_copy(update=fields)])
        return memory.doc_id


def test_a_sound_session_passes_every_check(workplace: Workplace, key: str) -> None:
    found = verdicts(workplace.run(ENRICH_JOB, key))
    assert len(found) == 4
    assert all(found.values())


def test_an_ungrounded_memory_blocks_its_vector(workplace: Workplace, key: str) -> None:
    spoil(workplace, summary="The logs of Bertha go to `/var/log/b.log`.")
    with workplace.store() as store:
        store.drop_vectors(Summary)
    result = workplace.run(ENRICH_JOB, key)
    assert not result.success
    assert verdicts(result) == {
        "memories_are_grounded": False,
        "memories_are_worth_keeping": True,
        "turns_are_distilled": True,
    }
    with workplace.store() as store:
        assert store.count(Summary, {"embedding_model": None}) == 1


def test_another_session_s_fault_does_not_block_this_one(workplace: Workplace, key: str) -> None:
    spoil(workplace, summary="The logs of Bertha go to `/var/log/b.log`.")
    other = workplace.session("c").session_id
    workplace.run(INDEX_JOB, other)
    result = workplace.run(ENRICH_JOB, other)
    assert result.success
    assert verdicts(result)["memories_are_grounded"]


def test_a_failed_share_of_turns_is_told_and_blocks_nothing(
    workplace: Workplace, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parse error that is swallowed loses most of what was said, unnoticed."""
    keys = [workplace.session(name, age=500 - place).session_id for place, name in enumerate("abcdef")]
    workplace.run(INDEX_JOB, *keys)
    server.then(CHAT, *[chat_completion("no JSON at all")] * 2)
    server.always(CHAT, chat_completion('{"memories": [], "entities": []}'))
    monkeypatch.setenv("LLAMA_URL", server.url)
    result = workplace.run(ENRICH_JOB, *keys)
    assert result.success
    (check,) = (c for c in result.get_asset_check_evaluations() if c.check_name == "turns_are_distilled")
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.ERROR
    assert "came to no outcome" in (check.description or "")


def test_the_whole_store_is_checked_by_a_job_of_its_own(workplace: Workplace, key: str) -> None:
    memory_id = spoil(workplace, summary="The logs of Bertha go to `/var/log/b.log`.")
    result = workplace.run(AUDIT_JOB)
    found = {check.check_name: check for check in result.get_asset_check_evaluations()}
    assert {name for name, check in found.items() if not check.passed} == {"memories_are_grounded"}
    metadata = found["memories_are_grounded"].metadata
    assert metadata["ungrounded"].value == 1
    assert memory_id in str(metadata["ungrounded_examples"].value)
    assert "Bertha" not in str([check.description for check in found.values()])
