from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

import pytest

from memory_pipeline.redaction import Redacted, Redactor, is_redacted
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.redaction.rules import cache_folder

TOKEN = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{6}\]")


def test_an_occurrence_before_the_recognition_goes_too(redactor: Redactor) -> None:
    secret = fakes.password()
    texts = [f"try {secret} first", "nothing", f"DB_PASSWORD={secret}"]
    view = redactor.session()
    view.learn(texts)
    first, second, third = view.redact(texts)

    assert secret not in first.text + third.text
    assert TOKEN.findall(first.text) == TOKEN.findall(third.text)
    assert second == Redacted("nothing", 0)
    assert (first.count, first.kinds, view.known) == (1, {"password": 1}, 1)


def test_the_same_secret_in_other_clothes_reads_the_same(redactor: Redactor) -> None:
    secret = "Zq/+=&é" + fakes.noise("x", 14)
    texts = [
        f'password = "{secret}"',
        json.dumps({"a": f"say {secret}"}),
        f"https://x.net/?q={quote(secret, safe='')}",
        f"plain {secret}!",
    ]
    view = redactor.session()
    view.learn(texts)
    tokens = [TOKEN.findall(r.text) for r in view.redact(texts)]

    assert [len(found) for found in tokens] == [1, 1, 1, 1]
    assert len({found[0] for found in tokens}) == 1


def test_quotes_prefixes_and_packing_do_not_change_the_name(redactor: Redactor) -> None:
    token = fakes.token()
    packed = base64.b64encode(f"it was {token} then".encode()).decode()
    texts = [token, f'GITHUB_TOKEN="{token}"', f"Authorization: Bearer {token}", f"https://joe:{token}@x.net/", packed]
    names = {TOKEN.findall(redactor.redact(text).text)[0].split(":")[2] for text in texts}

    assert len(names) == 1


def test_lines_of_a_key_go_where_only_they_are_shown(redactor: Redactor) -> None:
    key = fakes.private_key()
    lines = key.split("\n")
    texts = ["head shows\n" + "\n".join(lines[3:5]), key, json.dumps({"key": key})]
    view = redactor.session()
    view.learn(texts)
    results = view.redact(texts)

    assert not any(line in r.text for line in lines[1:-1] for r in results)


def test_common_words_are_never_replaced(redactor: Redactor) -> None:
    texts = ["https://joe:hunter@x.net/ and postgres://app:Summer@db.net/x", "the hunter saw Summer come, admin too"]
    view = redactor.session()
    view.learn(texts)

    assert view.known == 2
    assert view.redact(texts)[1] == Redacted(texts[1], 0)


def test_short_secrets_keep_to_word_borders(redactor: Redactor) -> None:
    texts = ["PASSWORD=ab12cd9", "xab12cd9x ab12cd9 'ab12cd9'"]
    view = redactor.session()
    view.learn(texts)

    assert re.fullmatch(rf"xab12cd9x {TOKEN.pattern} '{TOKEN.pattern}'", view.redact(texts)[1].text)


def test_pieces_may_be_of_any_size_(redactor: Redactor) -> None:
    texts = [f"{i} {fakes.token(str(i))}" if i % 7 == 0 else f"text {i}" for i in range(50)]
    view = redactor.session()
    for start in range(0, 50, 8):
        view.learn(texts[start : start + 8])
    results = [r for start in range(0, 50, 3) for r in view.redact(texts[start : start + 3])]

    assert [(r.text, r.kinds) for r in results] == [(r.text, r.kinds) for r in redactor.redact_many(texts)]


def test_names_and_stored_text_are_redacted_with_what_is_known(redactor: Redactor) -> None:
    secret = fakes.password()
    view = redactor.session()
    view.learn([f"password: {secret}"])

    assert secret not in view.redact_one(f"/home/{secret}/x").text
    assert secret not in view.redact_literals(f"stored: {secret}").text
    assert view.redact_literals(fakes.token()) == Redacted(fakes.token(), 0)
    assert view.redact_one(fakes.token()).count == 1
    once = view.redact_literals(f"stored: {secret}").text
    assert view.redact_literals(once) == Redacted(once, 0)


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "say {}, then",
        "key={}",
        "x={}&y=1",
        "'{}'",
        '{{"a":"{}"}}',
        "(see {}).",
        "--pass:{}",
        "/srv/{}/x",
        "a\n{}",
        *("„{}“", "—{}—", "_{}_", "${}!", "~{}~", "{}…", "{}。", "{}%", "A+{}+B", "-{}-", "{}’s"),
    ],
)
def test_a_secret_is_known_again_by_its_mark(around: str, redactor: Redactor) -> None:
    secret = fakes.password("marked")
    first = redactor.session()
    first.learn([f"DB_PASSWORD={secret}"])
    name = TOKEN.findall(first.redact([f"DB_PASSWORD={secret}"])[0].text)
    texts = ["before: " + around.format(secret), "nothing"]

    later = redactor.session(first.marks)
    later.learn(texts)
    found = later.redact(texts)

    assert TOKEN.findall(found[0].text) == name
    assert secret not in found[0].text
    assert found[1] == Redacted("nothing", 0)
    assert later.marks == first.marks
    assert secret not in redactor.session(first.marks).redact_one(texts[0]).text


def test_marks_know_values_with_signs_in_them(redactor: Redactor) -> None:
    secret = "Zq/9=" + fakes.noise("signs", 9) + "&x"
    first = redactor.session()
    first.learn([f'password = "{secret}"'])
    later = redactor.session(first.marks)

    assert secret not in later.redact_one(f"login -p {secret} now").text
    assert secret not in later.redact_one(f"pass:{secret}, ok").text


def test_marks_hold_nothing_of_the_value_and_want_the_key(
    redactor: Redactor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other_key = Redactor(cache_folder(tmp_path_factory), bytes(32))
    secret = fakes.password("marked")
    first = redactor.session()
    first.learn([f"DB_PASSWORD={secret}"])

    assert first.marks
    assert secret[:4] not in "".join(first.marks)
    assert other_key.session(first.marks).redact_one(f"say {secret}").count == 0


def test_what_was_marked_stays_marked(redactor: Redactor) -> None:
    first = redactor.session()
    first.learn([f"DB_PASSWORD={fakes.password('one')}"])
    second = redactor.session(first.marks)
    second.learn([f"DB_PASSWORD={fakes.password('two')}"])

    assert set(first.marks) < set(second.marks)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("a secret here", "a [redacted:x:000000] here", True),
        ("a b", "a b", True),
        ("one and two", "[redacted:x:000000] and [redacted:y:111111]", True),
        ("a [redacted:x:000000] two", "a [redacted:x:000000] [redacted:y:111111]", True),
        ("a secret there", "a [redacted:x:000000] here", False),
        ("here", "he[redacted:x:000000]ere", False),
        ("a b", "a b c", False),
        ("b secret here", "a [redacted:x:000000] here", False),
    ],
)
def test_a_text_that_lost_its_secrets_is_known_as_the_same(before: str, after: str, same: bool) -> None:
    assert is_redacted(before, after) is same
