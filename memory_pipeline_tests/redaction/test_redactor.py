from __future__ import annotations

import base64
import json
import re
import stat
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.redaction import Redacted, Redactor
from memory_pipeline.redaction import detector as detector_module
from memory_pipeline.redaction import rules as rules_module
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.redaction.rules import KEY, cache_folder

TOKEN = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{6}\]")


def test_a_secret_becomes_its_kind_and_six_digits(redactor: Redactor) -> None:
    result = redactor.redact(f"push with {fakes.token()} please")

    assert result.count == 1
    assert re.fullmatch(r"push with \[redacted:github-pat:[0-9a-f]{6}\] please", result.text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"Übergröße ✓ 日本 {fakes.token()} ende", fakes.token()),
        (f"DATABASE_URL={fakes.address()}", fakes.password()),
        (f"here:\n{fakes.private_key()}\nthat was it", fakes.noise("a0", 64)),
        (json.dumps({"content": f"A=1\n{fakes.private_key()}\n"}), fakes.noise("a3", 64)),
        (json.dumps({"content": f"A=1\n{fakes.token()}\n"}), fakes.token()),
        (json.dumps({"outer": json.dumps({"inner": f"x\t{fakes.token()}"})}), fakes.token()),
        (f"aws_secret_access_key = {fakes.access_secret()}", fakes.access_secret()),
        (f"a\0b\0{fakes.token()}\0", fakes.token()),
        (f"\ud83d {fakes.token()} \udc88", fakes.token()),
        (base64.b64encode(f"the tokens, {fakes.token()} of the job".encode()).decode(), "Z2hwXz"),
    ],
    ids=["unicode", "address", "key", "json key", "json", "json in json", "aws", "nul", "surrogates", "base64"],
)
def test_it_is_found_wherever_it_stands(redactor: Redactor, text: str, secret: str) -> None:
    result = redactor.redact(text)

    assert result.count >= 1
    assert secret not in result.text
    assert TOKEN.search(result.text)


def test_what_stands_around_a_secret_stays_to_the_letter(redactor: Redactor) -> None:
    before, after = "äöü \ud83d\n\t“quoted” ", " — ✓\r\nend\\n"

    result = redactor.redact(before + fakes.token() + after)

    assert result.text.startswith(before)
    assert result.text.endswith(after)


def test_a_text_without_secrets_comes_back_as_it_is(redactor: Redactor) -> None:
    text = 'Node 22 runs on port 5433, sha256 0123456789abcdef, "C:\\new\\table" and \\\\server\\share.'

    assert redactor.redact(text) == Redacted(text, 0)


def test_the_same_secret_reads_the_same_everywhere(redactor: Redactor) -> None:
    one = redactor.redact(f"first {fakes.token()} and {fakes.token('b')}").text
    other = redactor.redact(f"{fakes.token()}!").text

    assert TOKEN.findall(one)[0] == TOKEN.findall(other)[0]
    assert TOKEN.findall(one)[1] != TOKEN.findall(one)[0]


def test_another_key_gives_another_name(redactor: Redactor, tmp_path_factory: pytest.TempPathFactory) -> None:
    stranger = Redactor(cache_folder(tmp_path_factory), KEY[::-1])

    assert stranger.redact(fakes.token()).text != redactor.redact(fakes.token()).text


def test_redacting_twice_changes_nothing(redactor: Redactor) -> None:
    text = " | ".join(
        [fakes.token(), fakes.address(), fakes.private_key(), f"curl -u joe:{fakes.password()} https://x.net"]
    )
    once = redactor.redact(text)

    assert once.count == 4
    assert redactor.redact(once.text) == Redacted(once.text, 0)


def test_many_texts_read_as_each_alone(redactor: Redactor) -> None:
    texts = [
        "",
        f"a {fakes.token()}",
        "plain",
        f"{fakes.private_key()[:200]}",
        f"b {fakes.private_key('b')}",
        fakes.address(),
    ]
    texts += [f"text {i} with ä" for i in range(100)] + ["x" * 2_000_000, fakes.token("c")]

    assert redactor.redact_many(texts) == [redactor.redact(text) for text in texts]


def test_a_key_needs_no_partner_and_no_neighbour_decides(redactor: Redactor) -> None:
    access, secret = f"id {fakes.access_key()}", f"aws_secret_access_key = {fakes.access_secret()}"

    assert redactor.redact(access).count == 1
    assert redactor.redact(secret).count == 1
    assert redactor.redact(f"{access}\n{secret}").count == 2
    assert redactor.redact_many([access, secret]) == [redactor.redact(access), redactor.redact(secret)]


def test_names_and_addresses_beside_a_secret_are_no_secrets(redactor: Redactor) -> None:
    key = base64.b64encode(fakes.noise("azure", 64).encode()).decode()[:86] + "=="
    result = redactor.redact(f"DefaultEndpointsProtocol=https;AccountName=billingstore;AccountKey={key};")

    assert "billingstore" in result.text
    assert key not in result.text


def test_threads_may_share_a_redactor(redactor: Redactor) -> None:
    texts = [f"{i} {fakes.token(str(i))}" for i in range(50)]
    expected = redactor.redact_many(texts)
    results: list[list[Redacted]] = []
    threads = [threading.Thread(target=lambda: results.append(redactor.redact_many(texts))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [expected] * 8


@pytest.mark.timeout(60)
def test_hostile_texts_take_no_longer_than_their_length(redactor: Redactor) -> None:
    for text in (
        "\\" * 1_000_000,
        "\\n" * 500_000,
        "curl -u x " * 50_000,
        "password " * 20_000,
        f"{fakes.address()} " * 500,
    ):
        redactor.redact(text)


def test_nothing_passes_where_rules_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", ModuleType("kingfisher_sdk"))

    with pytest.raises(MemoryPipelineError, match="cannot be loaded"):
        Redactor(tmp_path, KEY).redact("hello")


def test_rules_that_could_not_be_loaded_ahead_are_missed_where_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", ModuleType("kingfisher_sdk"))
    redactor = Redactor(tmp_path, KEY)
    redactor.load_ahead()
    with pytest.raises(MemoryPipelineError, match="cannot be loaded"):
        redactor.redact("hello")


def test_rules_that_are_loaded_ahead_are_loaded_once(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []

    def load(folder: Path) -> object:
        loaded.append(folder)
        return rules_module.load_scanner(folder)

    monkeypatch.setattr(detector_module, "load_scanner", load)
    redactor = Redactor(cache_folder(tmp_path_factory), KEY)
    redactor.load_ahead()
    assert redactor.redact("hello").text == "hello"
    assert len(loaded) == 1


def test_nothing_passes_where_rules_are_missing(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules_module, "_MINIMUM_RULES", 100_000)

    with pytest.raises(MemoryPipelineError, match="rules instead of"):
        Redactor(cache_folder(tmp_path_factory), KEY).redact_many(["hello"])


def test_nothing_passes_where_the_self_test_fails(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "nothing like a secret"
    monkeypatch.setattr(detector_module, "_planted", lambda: [("fake", f"it is {secret}", secret)])

    with pytest.raises(MemoryPipelineError, match="planted fake") as caught:
        Redactor(cache_folder(tmp_path_factory), KEY).redact("hello")
    assert secret not in str(caught.value)


def test_the_cache_folder_is_private(redactor: Redactor, tmp_path_factory: pytest.TempPathFactory) -> None:
    redactor.redact("load")
    folder = cache_folder(tmp_path_factory)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()), "the compiled rules are kept"
