"""When the llama.cpp server that is started here begins and ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest

from memory_pipeline.models import open_embedder
from memory_pipeline.models.contract import Embedder
from memory_pipeline.models.embedded import EMBEDDING_TOKENS, EmbeddedServer
from memory_pipeline.models.installed import MINILM
from memory_pipeline.settings import load_settings


def servers_of(pid: int | None = None) -> list[psutil.Process]:
    """The llama.cpp servers that a process (this one) has started."""
    return [child for child in psutil.Process(pid).children() if "llama_process.py" in " ".join(child.cmdline())]


@pytest.fixture
def minilm(models_dir: Path, tmp_path: Path) -> Path:
    """The embedding model under a path of its own, so that no server of another test is shared."""
    path = tmp_path / MINILM.file
    shutil.copyfile(models_dir / MINILM.file, path)
    return path


def embedder_for(gguf: Path) -> Embedder:
    return open_embedder(load_settings(env_file=None, embeddings_gguf=gguf))


def test_nothing_is_started_before_it_is_needed(minilm: Path) -> None:
    before = len(servers_of())
    with closing(embedder_for(minilm)) as embedder:
        assert embedder.model == "all-MiniLM-L6-v2"
        assert len(servers_of()) == before
        assert embedder.dimensions == 384
        assert len(servers_of()) == before + 1
    assert len(servers_of()) == before


def test_two_threads_that_need_it_at_once_start_one_server(minilm: Path) -> None:
    before = len(servers_of())
    embedders = [embedder_for(minilm) for _ in range(4)]
    threads = [threading.Thread(target=embedder.embed, args=(["a"],)) for embedder in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(servers_of()) == before + 1
    for embedder in embedders:
        embedder.close()
    assert len(servers_of()) == before


def test_its_threads_sleep_while_they_wait_for_each_other(minilm: Path) -> None:
    with closing(embedder_for(minilm)) as embedder:
        embedder.embed(["a"])
        assert servers_of()[-1].environ()["OMP_WAIT_POLICY"] == "passive"


def test_it_ends_with_its_last_user_and_starts_again_when_needed(minilm: Path) -> None:
    before = len(servers_of())
    first, second = embedder_for(minilm), embedder_for(minilm)
    first.embed(["a"])
    second.embed(["a"])
    server = servers_of()[-1]
    first.close()
    first.close()
    second.embed(["a"])
    assert server.is_running()
    second.close()
    assert not server.is_running()
    second.embed(["a"])
    assert len(servers_of()) == before + 1
    second.close()
    assert len(servers_of()) == before


def test_nobody_answers_after_it_was_closed(minilm: Path) -> None:
    share = EmbeddedServer(minilm, "embeddings", context=EMBEDDING_TOKENS, remedy="")
    url = share.endpoint().url
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{url}/health").status_code == 200
        share.close()
        with pytest.raises(httpx.ConnectError):
            client.get(f"{url}/health")


def test_a_server_that_died_is_started_again(minilm: Path) -> None:
    with closing(embedder_for(minilm)) as embedder:
        vector = embedder.embed(["a"])
        servers_of()[-1].kill()
        assert embedder.embed(["a"]) == vector


def test_an_interrupt_in_the_terminal_does_not_reach_it(minilm: Path) -> None:
    with closing(embedder_for(minilm)) as embedder:
        embedder.embed(["a"])
        assert os.getpgid(servers_of()[-1].pid) != os.getpgid(0)


START = """
import os, sys, threading, time
from memory_pipeline.models import open_chat, open_embedder
from memory_pipeline.models.contract import ChatMessage
from memory_pipeline.settings import load_settings
embedder = open_embedder(load_settings(env_file=None, models_dir=sys.argv[1]))
embedder.embed(["a"])
"""


def run(script: str, models_dir: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", START + script, str(models_dir)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_llama_cpp_says_nothing_on_the_terminal_and_ends_with_the_process(models_dir: Path) -> None:
    script = "import psutil; print(psutil.Process().children()[0].pid)"
    done = run(script, models_dir)
    assert (done.returncode, done.stderr) == (0, "")
    assert not psutil.pid_exists(int(done.stdout))


def test_a_process_may_end_while_a_request_is_at_work(models_dir: Path) -> None:
    script = """
chat = open_chat(load_settings(env_file=None, models_dir=sys.argv[1]))
schema = {"type": "object", "properties": {"story": {"type": "string", "minLength": 9000}}, "required": ["story"]}
ask = {"schema": schema, "max_tokens": 4000}
chat.count_tokens("a")
threading.Thread(target=chat.complete, args=([ChatMessage("user", "A story")],), kwargs=ask, daemon=True).start()
time.sleep(0.5)
sys.exit(3)
"""
    done = run(script, models_dir)
    assert done.returncode == 3


def test_a_process_that_is_killed_leaves_no_server_behind(models_dir: Path) -> None:
    command = [sys.executable, "-c", START + "print('ready', flush=True); time.sleep(60)", str(models_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        (server,) = servers_of(owner.pid)
        owner.send_signal(signal.SIGKILL)
    server.wait(timeout=10)
    assert not server.is_running()


def test_a_forked_child_has_a_server_of_its_own_and_leaves_the_parent_s_alone(models_dir: Path) -> None:
    script = """
import psutil
(server,) = psutil.Process().children()
child = os.fork()
if not child:
    embedder.embed(["b"])
    (own,) = psutil.Process().children()
    assert own.pid != server.pid
    sys.exit(0)  # with all that an ordinary end does
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
embedder.embed(["c"])
assert psutil.Process().children() == [server]
assert server.status() != psutil.STATUS_ZOMBIE
"""
    done = run(script, models_dir)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_child_does_not_keep_the_server_of_a_dead_parent(models_dir: Path) -> None:
    script = """
import psutil, signal
(server,) = psutil.Process().children()
child = os.fork()
if not child:
    os.close(1), os.close(2)
    time.sleep(60)
print(server.pid, child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    server, child = (psutil.Process(int(pid)) for pid in run(script, models_dir).stdout.split())
    try:
        assert server not in psutil.wait_procs([server], timeout=10)[1]
        assert child.is_running()
    finally:
        child.kill()
