"""The command line on a secured Elasticsearch, with a key that reaches the indices of its prefix and nothing else."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from memory_pipeline.models.replies import Endpoint
from memory_pipeline_tests.support.command import CommandLine
from memory_pipeline_tests.support.dagster_dev import dagster_dev
from memory_pipeline_tests.support.elasticsearch.cleaning import drop_indices
from memory_pipeline_tests.support.elasticsearch.fixtures import Secured
from memory_pipeline_tests.support.elasticsearch.serverless import serverless
from memory_pipeline_tests.support.pi_files import SessionWriter

GERMAN = "Die Datenbank des Gewächshauses läuft seit Mai auf PostgreSQL 16, weil `pgvector` dort schon installiert ist."


@pytest.fixture
def team(command: CommandLine, secured_elasticsearch: Secured) -> Iterator[CommandLine]:
    """The command line with the keys that ``es setup`` makes."""
    prefix = f"team-{uuid.uuid4().hex[:6]}"
    command.env |= {"ES_URL": secured_elasticsearch.url, "MEMORY_INDEX_PREFIX": prefix}
    command.env["ES_ADMIN"] = f"elastic:{secured_elasticsearch.password}"
    made = command("es", "setup").stdout
    keys = [line.removeprefix("ES_API_KEY=") for line in made.splitlines() if line.startswith("ES_API_KEY=")]
    assert len(keys) == 2
    del command.env["ES_ADMIN"]
    command.env["ES_API_KEY"] = keys[0]
    command.env["TEST_READER"] = keys[1]
    yield command
    with Elasticsearch(secured_elasticsearch.url, basic_auth=("elastic", secured_elasticsearch.password)) as admin:
        drop_indices(admin, prefix)


def without_key(command: CommandLine) -> None:
    """The key is in no file of the home."""
    key = command.env["ES_API_KEY"].encode()
    assert [path for path in command.home.rglob("*") if path.is_file() and key in path.read_bytes()] == []


@pytest.mark.timeout(400)
def test_the_chain_runs_with_a_key_that_reaches_only_its_prefix(team: CommandLine) -> None:
    SessionWriter(team.sessions).turn(
        "Which database do we take?", "We decided on PostgreSQL 16, because `pgvector` is there and the team knows it."
    )
    SessionWriter(team.sessions, cwd="/home/ann/src/haus").turn("Welche Datenbank nehmen wir?", GERMAN)
    assert "nothing stored yet" in team("doctor").stdout
    team("run")
    before = team.export()
    assert {row["language"] for row in team.export("--tier", "summaries")} == {"en", "de"}
    team("run")
    assert team.export() == before
    assert team.status()["vectors"] == 2
    found = json.loads(team("search", "Gewächshaus Datenbanken", "-k", "1", "--json").stdout)
    assert "Mai" in found[0]["snippet"]
    assert "PostgreSQL" in team("show", found[0]["doc_id"]).stdout
    assert "sound" in team("audit").stdout
    assert json.loads(team("redact", "--store", "--json").stdout) == {"sessions": 2, "repaired": {}}
    team("hide", found[0]["doc_id"])
    assert team("search", "Gewächshaus", "--json").stdout.count("Gewächshaus") == 0
    assert "All indices" in team("migrate").stdout
    assert "holds all that" in team("copy", "--from", "elasticsearch", "--to", "sqlite").stdout
    assert "holds all that" in team("copy", "--from", "sqlite", "--to", "elasticsearch").stdout
    assert team.status()["location"] == team.env["ES_URL"]
    without_key(team)
    team.env["ES_API_KEY"] = team.env["TEST_READER"]
    assert json.loads(team("search", "database", "--json").stdout)
    SessionWriter(team.sessions, cwd="/home/ann/src/new").turn("And the port?", "Port 8443 is free since May.")
    assert "may not do this" in team("run", code=1).stderr
    team.env["ES_API_KEY"] = "d3Jvbmc6a2V5"
    refused = team("search", "database", code=1).stderr
    assert "ES_API_KEY" in refused
    assert "d3Jvbmc6a2V5" not in refused


@pytest.mark.timeout(400)
def test_the_chain_asks_for_nothing_that_serverless_refuses(command: CommandLine, elasticsearch_server: str) -> None:
    SessionWriter(command.sessions).turn(
        "Which database do we take?", "We decided on PostgreSQL 16, because `pgvector` is there and the team knows it."
    )
    prefix = f"serverless-{uuid.uuid4().hex[:6]}"
    with serverless(elasticsearch_server) as project:
        command.env |= {"ES_URL": project.url, "MEMORY_INDEX_PREFIX": prefix}
        command("doctor")
        command("run")
        assert command.status()["vectors"] == 1
        assert "PostgreSQL" in json.loads(command("search", "database", "--json").stdout)[0]["snippet"]
        assert "sound" in command("audit").stdout
        command("run", "--reembed")
        assert "All indices" in command("migrate").stdout
        assert "holds all that" in command("copy", "--from", "elasticsearch", "--to", "sqlite").stdout
        assert project.refused == []
        assert ("GET", "/") not in project.asked
    with Elasticsearch(elasticsearch_server) as admin:
        drop_indices(admin, prefix)


@pytest.mark.timeout(400)
def test_dagster_dev_materializes_into_elasticsearch(team: CommandLine, tmp_path: Path) -> None:
    team.env["MEMORY_SETTLE_SECONDS"] = "100000"
    new = SessionWriter(team.sessions).turn(
        "Which port is free?", "Port 8443 is free; `caddy` now listens there instead of 443, because of the proxy."
    )
    with dagster_dev(team) as dev:
        dev.add_partition(new.session_id)
        assert dev.wait_for(dev.launch("index_sessions", new.session_id)) == "SUCCESS"
        assert dev.metadata("memory_raw", new.session_id)["written"] == 2
        run_id = dev.wait_for_run("enrich_sessions", seconds=120)
        assert dev.wait_for(run_id) == "SUCCESS"
        assert dev.metadata("summary_embeddings", new.session_id)["embedded"] == 1
    assert team.status()["vectors"] == 1
    without_key(team)


@pytest.mark.timeout(400)
def test_the_cluster_makes_the_vectors_by_our_llama_cpp(
    team: CommandLine, secured_elasticsearch: Secured, embedding_server: Endpoint, tmp_path: Path
) -> None:
    """``semantic_text`` end to end, with the key that writes; Elasticsearch calls llama.cpp on loopback."""
    SessionWriter(team.sessions).turn(
        "Which database do we take?", "We decided on PostgreSQL 16, because `pgvector` is there and the team knows it."
    )
    team.env |= {"MEMORY_EMBEDDINGS": "elasticsearch", "ES_INFERENCE_ID": team.env["MEMORY_INDEX_PREFIX"]}
    missing = team("run", code=1).stderr
    assert "es setup --endpoint" in missing
    asked = ("es", "setup", "--endpoint", "openai", "--url", embedding_server.url, "--model", "all-MiniLM-L6-v2")
    assert "manage_inference" in team(*asked, code=1).stderr
    admin = {
        "ES_ADMIN": f"elastic:{secured_elasticsearch.password}",
        "ES_INFERENCE_KEY": embedding_server.api_key or "",
    }
    team.env |= admin
    assert "openai, all-MiniLM-L6-v2, 384 dimensions" in team(*asked).stdout
    for name in admin:
        del team.env[name]
    assert "all-MiniLM-L6-v2, 384 dimensions" in team("doctor").stdout
    team("run")
    status = team.status()
    assert (status["vectors"], status["vectors_missing"]) == (1, 0)
    assert (status["embedding_model"], status["embedding_dimensions"]) == ("all-MiniLM-L6-v2", 384)
    found = team("search", "storage engine for relational data", "--json")
    assert "PostgreSQL" in json.loads(found.stdout)[0]["snippet"]
    assert found.stderr == ""
    assert "sound" in team("audit").stdout
    new = SessionWriter(team.sessions, cwd="/home/ann/src/proxy").turn(
        "Which port is free?", "Port 8443 is free; `caddy` now listens there instead of 443, because of the proxy."
    )
    team.env["MEMORY_SETTLE_SECONDS"] = "100000"
    with dagster_dev(team) as dev:
        dev.add_partition(new.session_id)
        assert dev.wait_for(dev.launch("index_sessions", new.session_id)) == "SUCCESS"
        run_id = dev.wait_for_run("enrich_sessions", seconds=120)
        assert dev.wait_for(run_id) == "SUCCESS"
        assert dev.metadata("summary_embeddings", new.session_id)["embedded"] == 1
    team.env["MEMORY_EMBEDDINGS"] = "embedded"
    team("run", "--reembed")
    assert team.status()["embedding_model"] == "all-MiniLM-L6-v2"
    assert team.status()["vectors"] == 2
    without_key(team)


def test_an_endpoint_for_no_cluster_is_printed_to_paste_without_the_key(command: CommandLine) -> None:
    command.env["ES_INFERENCE_KEY"] = "jina-secret"
    shown = command("es", "setup", "--endpoint", "jinaai").stdout
    assert "PUT /_inference/text_embedding/memory-embeddings" in shown
    assert "jina-embeddings-v5-text-small-clustering" in shown
    assert "jina-secret" not in shown
    assert "--url" in command("es", "setup", "--endpoint", "openai", code=1).stderr
    assert "--endpoint" in command("es", "setup", "--url", "http://a.example", code=2).stderr
    command.env["MEMORY_EMBEDDINGS"] = "elasticsearch"
    assert "set ES_URL" in command("run", code=1).stderr


def test_setup_without_an_admin_prints_what_to_paste(command: CommandLine) -> None:
    shown = command("es", "setup", "--project", "/home/ann/src/app").stdout
    bodies = [json.loads("{" + part.split("{", 1)[1].split("\n\n")[0]) for part in shown.split("POST ")[1:]]
    assert [body["name"].rpartition("-")[0] or body["name"] for body in bodies][:2] == ["memory", "memory"]
    assert "paid licence" in shown
    for body in bodies:
        [role] = body["role_descriptors"].values()
        assert [index["names"] for index in role["indices"]] == [["memory-*"]]
