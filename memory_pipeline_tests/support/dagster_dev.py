"""A real ``dagster dev`` and its GraphQL API."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from memory_pipeline_tests.support.command import CommandLine

START_SECONDS = 120.0


@dataclass(slots=True)
class DagsterDev:
    """The API of a running ``dagster dev``."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    def query(self, text: str, **variables: Any) -> dict[str, Any]:
        answer = httpx.post(f"{self.url}/graphql", json={"query": text, "variables": variables}, timeout=30)
        body = answer.json()
        assert "errors" not in body, body["errors"]
        data: dict[str, Any] = body["data"]
        return data

    def add_partition(self, key: str) -> None:
        found = self.query(
            """mutation($key: String!, $selector: RepositorySelector!) { addDynamicPartition(
              partitionsDefName: "session_files", partitionKey: $key, repositorySelector: $selector) {
                __typename } }""",
            key=key,
            selector=SELECTOR,
        )
        assert found["addDynamicPartition"]["__typename"] == "AddDynamicPartitionSuccess", found

    def launch(self, job: str, key: str) -> str:
        """Launch a job for one partition; returns the run's id."""
        found = self.query(
            """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
              __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
            params={
                "selector": {**SELECTOR, "jobName": job},
                "mode": "default",
                "runConfigData": {},
                "executionMetadata": {"tags": [{"key": "dagster/partition", "value": key}]},
            },
        )["launchPipelineExecution"]
        assert found["__typename"] == "LaunchRunSuccess", found
        run_id: str = found["run"]["runId"]
        return run_id

    def wait_for(self, run_id: str, seconds: float = 120) -> str:
        """The status that the run ends with."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            status: str = self.query("query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }", id=run_id)[
                "runOrError"
            ]["status"]
            if status in ("SUCCESS", "FAILURE", "CANCELED"):
                return status
            time.sleep(0.5)
        raise AssertionError(f"run {run_id} has not ended after {seconds} s")

    def wait_for_run(self, job: str, seconds: float = 120) -> str:
        """The id of a run of the job that is not the command line's, once there is one."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            runs = self.query(
                """query($filter: RunsFilter) { runsOrError(filter: $filter) { ... on Runs { results {
                  runId tags { key value } } } } }""",
                filter={"pipelineName": job},
            )["runsOrError"]["results"]
            for run in runs:
                if not any(tag["key"] == "memory_pipeline/command_line" for tag in run["tags"]):
                    run_id: str = run["runId"]
                    return run_id
            time.sleep(1)
        raise AssertionError(f"no run of {job} after {seconds} s: {self.log.read_text()}")

    def metadata(self, asset: str, key: str) -> dict[str, Any]:
        """Label → value of the asset's latest materialization for the partition."""
        found = self.query(
            """query($asset: AssetKeyInput!, $keys: [String!]) { assetOrError(assetKey: $asset) { ... on Asset {
              assetMaterializations(partitions: $keys, limit: 1) { metadataEntries { label
                ... on IntMetadataEntry { intValue } ... on FloatMetadataEntry { floatValue }
                ... on TextMetadataEntry { text } } } } } }""",
            asset={"path": [asset]},
            keys=[key],
        )["assetOrError"]["assetMaterializations"]
        assert found, f"{asset} has no materialization for {key}"
        return {entry["label"]: _value(entry) for entry in found[0]["metadataEntries"]}


SELECTOR: Mapping[str, str] = {"repositoryLocationName": "memory_pipeline", "repositoryName": "__repository__"}


def _value(entry: dict[str, Any]) -> Any:
    return next((entry[name] for name in ("intValue", "floatValue", "text") if entry.get(name) is not None), None)


@contextmanager
def dagster_dev(command: CommandLine) -> Iterator[DagsterDev]:
    """Serve the command line's data until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = command.home / "dagster-dev.log"
    process = command.start("ui", "--port", str(port), log=log)
    dev = DagsterDev(f"http://127.0.0.1:{port}", process, log)
    try:
        _wait_until_loaded(dev)
        yield dev
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_loaded(dev: DagsterDev) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert dev.process.poll() is None, dev.log.read_text()
        try:
            locations = dev.query(
                "{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus"
                " locationOrLoadError { __typename ... on PythonError { message } } } } } }"
            )["workspaceOrError"]["locationEntries"]
        except (httpx.HTTPError, ValueError):
            locations = []
        if locations and locations[0]["loadStatus"] == "LOADED":
            assert locations[0]["locationOrLoadError"]["__typename"] == "RepositoryLocation", locations
            return
        time.sleep(0.5)
    raise AssertionError(f"dagster dev did not come up: {dev.log.read_text()}")
