"""How much is found, and how little else."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_pipeline.redaction import Redacted, Redactor
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.redaction.unseen import Line, password_lines, vendor_lines


def test_97_percent_of_the_generated_secrets_leave_no_trace(redactor: Redactor, shared_data: Path) -> None:
    spec = importlib.util.spec_from_file_location("generate", shared_data / "secrets" / "generate.py")
    assert spec and spec.loader
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    cases = list(generate.cases(2, 11))
    results = redactor.redact_many(text for _, _, text, _ in cases)
    missed = Counter(
        kind
        for result, (kind, context, _, parts) in zip(results, cases, strict=True)
        if generate.leaked(result.text, context, parts) != 0
    )

    assert 1 - missed.total() / len(cases) >= 0.97, missed
    assert redactor.redact_many(r.text for r in results) == [Redacted(r.text, 0) for r in results]


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_keys_of_unknown_vendors_are_found(redactor: Redactor, seed: int) -> None:
    assert recall(redactor, list(vendor_lines(seed))) >= 0.9


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_passwords_are_found_by_the_lines_around_them(redactor: Redactor, seed: int) -> None:
    assert recall(redactor, list(password_lines(seed))) >= 0.9


def recall(redactor: Redactor, lines: list[Line]) -> float:
    results = redactor.redact_many(text for _, text, _ in lines)
    gone = [not any(p in r.text for p in parts) for r, (_, _, parts) in zip(results, lines, strict=True)]
    return sum(gone) / len(gone)


@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 (HEAD -> main)",
        'def decide(command: str) -> SessionWriter:\n    """One session with a decision worth keeping."""',
        '<script id="session-data">eyJoZWFkZXIiOnt9fQ==</script>',
        "id 7d444840-9dc0-11d1-b245-5ffdce74fad2, parent 550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file.tar.gz",
        '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DqEtSYXRNLhJiLEAZPNkVlIhKyQ4bDA"',
        "model claude-sonnet-4-5-20250929, gpt-4.1-mini-2025-04-14, Qwen2.5-Coder-32B-Instruct-Q4_K_M.gguf",
        "password = get_password()\ntoken: str\nsecret_key: Optional[str] = None\nself.api_key = api_key",
        "password=<your-password> token=${GITHUB_TOKEN} API_KEY=xxxxxxxxxxxxxxxx SECRET=changeme PASSWORD=$PASSWORD",
        "const key = process.env.API_KEY; apiKey: process.env.OPENAI_API_KEY, token: os.environ['TOKEN']",
        "postgres://user:password@localhost:5432/db and https://user:${TOKEN}@github.com/x/y",
        "Enter your password: \nThe password must have at least 8 characters and 1 digit.",
        "max_tokens=4096, token_count: 123456, key_id=a1b2, tokenizer.json, keyboard: qwerty, author: jane99doe",
        "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
        '{"type":"toolCall","id":"toolu_01A09q90qw90lq917835lq9ab","name":"bash"}',
        "see https://docs.python.org/3/library/hashlib.html#hashlib.scrypt and /usr/lib/python3.11/site-packages",
    ],
)
def test_what_only_looks_like_a_secret_stays(redactor: Redactor, text: str) -> None:
    assert redactor.redact(text) == Redacted(text, 0)


def test_no_alarm_on_real_sessions(redactor: Redactor, shared_data: Path) -> None:
    for path in sorted((shared_data / "pi-sessions").rglob("*.jsonl")):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        assert [r.kinds for r in redactor.redact_many(lines) if r.count] == [], path


def test_at_most_one_alarm_a_megabyte_of_code_and_documents(redactor: Redactor) -> None:
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    paths = sorted(p for folder in folders for p in folder.rglob("*") if p.suffix in (".py", ".md", ".rst", ".txt"))
    paths = [p for p in paths if folders[0] not in p.parents or "packages" not in p.parent.as_posix()]
    texts: list[str] = []
    size = 0
    for path in random.Random(3).sample(paths, len(paths)):
        if "memory_pipeline" not in str(path):
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
            size += len(texts[-1])
        if size > 4_000_000:
            break

    assert sum(result.count for result in redactor.redact_many(texts)) <= size / 1_000_000


def test_the_secrets_planted_in_the_labelled_set_are_gone(
    redactor: Redactor, shared_data: Path, tmp_path: Path
) -> None:
    import json

    subprocess.run([sys.executable, shared_data / "evalset" / "unpack.py", tmp_path], check=True, capture_output=True)
    planted = [v[::-1] for v in json.loads((shared_data / "evalset" / "planted.json").read_text()).values()]
    hits = 0
    for path in (tmp_path / "sessions").rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        hits += sum(text.count(secret) for secret in planted)
        redacted = "\n".join(r.text for r in redactor.redact_many(text.split("\n")))
        assert not any(secret in redacted for secret in planted), path.name
    assert hits


PIECES = st.sampled_from([
    fakes.token(), fakes.address(), fakes.private_key(), f"password = '{fakes.password()}'", "password is ", "token: ",
    f"curl -u joe:{fakes.password('b')} x", "\n", "\\n", " ", '"', "&amp;", "%3D", "\x1b[32m", "=", ":", "é", "\ud83d",
    "[redacted:password:abcdef]", "pass ", "Tiger1234!", "|", "a1B2c3D4e5", "Authorization: Basic ",
])  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_redacting_a_redacted_text_changes_nothing(redactor: Redactor, text: str) -> None:
    once = redactor.redact(text)

    assert redactor.redact(once.text) == Redacted(once.text, 0)
    assert redactor.redact_many([text]) == [once]
    assert sum(once.kinds.values()) == once.count
