"""A real ``dagster dev`` on the data of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.dagster_dev import DagsterDev, dagster_dev
from memory_pipeline_tests.support.pi_files import SessionWriter


@pytest.mark.timeout(400)
def test_a_partition_launched_in_the_ui_reports_what_it_did(tmp_path: Path, models_dir: Path) -> None:
    command = CommandLine(tmp_path / "home", models=models_dir, env={"MEMORY_SETTLE_SECONDS": "100000"})
    seen = SessionWriter(command.sessions).turn(
        "Which database do we take?", "We decided on PostgreSQL 16, because `pgvector` is there and the team knows it."
    )
    command("run")
    new = SessionWriter(command.sessions, cwd="/home/ann/src/other").turn(
        "Which port is free?", "Port 8443 is free; `caddy` now listens there instead of 443, because of the proxy."
    )
    with dagster_dev(command) as dev:
        earlier = dev.metadata("memory_raw", seen.session_id)
        assert earlier["written"] == 2, "the history of the command line is not shown"
        dev.add_partition(new.session_id)
        assert dev.wait_for(dev.launch("index_sessions", new.session_id)) == "SUCCESS"
        assert dev.metadata("memory_raw", new.session_id) == {
            "written": 2, "unchanged": 0, "kept_richer": 0, "problems": 0,
            "seconds": pytest.approx(1, abs=30),
        }  # fmt: skip
        assert dev.metadata("turn_groups", new.session_id)["written"] == 1
        _the_sensor_enriches(dev, new.session_id)
    assert command.status()["vectors"] == 2


def _the_sensor_enriches(dev: DagsterDev, session_id: str) -> None:
    """The enrich sensor runs by default and finds the turn that waits."""
    run_id = dev.wait_for_run("enrich_sessions", seconds=120)
    assert dev.wait_for(run_id) == "SUCCESS"
    assert dev.metadata("memory_summaries", session_id)["memories"] == 1
    assert dev.metadata("summary_embeddings", session_id)["embedded"] == 1
