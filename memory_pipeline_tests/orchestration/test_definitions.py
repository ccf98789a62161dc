"""What Dagster loads, and the files it is configured by."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import dagster as dg
import yaml

from memory_pipeline.orchestration.home import dagster_yaml, prepare_home, workspace_yaml
from memory_pipeline.settings import load_settings


def test_the_definitions_load_and_hold_the_whole_chain() -> None:
    from memory_pipeline.definitions import defs

    dg.Definitions.validate_loadable(defs)
    graph = defs.resolve_asset_graph()
    chain = ["raw_sessions", "memory_raw", "turn_groups", "memory_summaries", "summary_embeddings"]
    for upstream, downstream in pairwise(chain):
        assert graph.get(dg.AssetKey(downstream)).parent_keys == {dg.AssetKey(upstream)}


def test_sensors_and_schedules_run_by_default() -> None:
    from memory_pipeline.definitions import defs

    repository = defs.get_repository_def()
    assert repository.sensor_defs
    assert repository.schedule_defs
    assert all(s.default_status == dg.DefaultSensorStatus.RUNNING for s in repository.sensor_defs)
    assert all(s.default_status == dg.DefaultScheduleStatus.RUNNING for s in repository.schedule_defs)


def test_the_packaged_dagster_yaml_is_the_one_at_the_top(project: Path) -> None:
    assert dagster_yaml() == (project / "dagster.yaml").read_text()


def test_the_home_s_dagster_yaml_is_brought_up_to_date_unless_its_owner_took_it_over(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    config = prepare_home(settings) / "dagster.yaml"
    shipped = config.read_text()
    assert shipped.startswith(dagster_yaml())
    config.write_text("# Written by memory-pipeline. An older version\n")
    prepare_home(settings)
    assert config.read_text() == shipped
    config.write_text("telemetry:\n  enabled: false\n")
    prepare_home(settings)
    assert config.read_text() == "telemetry:\n  enabled: false\n"


def test_both_workspace_files_name_the_location_alike(project: Path, tmp_path: Path) -> None:
    """The location's name is part of the identity of sensors: with another one they would lose their cursor."""

    def location(path: Path) -> tuple[str, str]:
        module = yaml.safe_load(path.read_text())["load_from"][0]["python_module"]
        return module["module_name"], module["location_name"]

    assert location(workspace_yaml(tmp_path)) == location(project / "workspace.yaml")
