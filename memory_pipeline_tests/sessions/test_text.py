from __future__ import annotations

import base64
import hashlib

import pytest

from memory_pipeline.sessions.text import clean, placeholder, shorten, without_data_urls


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("a\0b", "ab"),
        ("\x1b[1;32mgreen\x1b[0m", "green"),
        ("\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link", "text link"),
        ("\x1b]0;never ends, but this stays", "]0;never ends, but this stays"),
        ("10%\r50%\r\nend\x0bx\x0cy", "10%\n50%\nend\nx\ny"),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("bell\x07 back\x08 del\x7f c1\x9b", "bell back del c1"),
        ("line\u2028sep\u2029\u0085tab\tnl\n", "line\u2028sep\u2029\u0085tab\tnl\n"),
    ],
)
def test_control_signs_go_and_text_stays(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected
    assert clean(dirty).encode()


def test_a_binary_becomes_its_type_size_and_hash() -> None:
    raw = b"x" * 12_345
    sha256 = hashlib.sha256(raw).hexdigest()

    png = placeholder("image", "image/png", base64.b64encode(raw).decode())
    assert png == f"[image image/png, 12,345 bytes, sha256 {sha256[:12]}]"
    assert placeholder("image", "image/png", f"blob:sha256:{sha256}") == f"[image image/png, sha256 {sha256[:12]}]"
    assert placeholder("image", "image/png", "no base64: é").startswith("[image image/png, 13 bytes, ")


def test_data_urls_become_placeholders() -> None:
    data = base64.b64encode(b"y" * 900).decode()

    assert without_data_urls(f"![x](data:image/png;charset=utf-8;base64,{data})").startswith(
        "![x]([data image/png, 900 "
    )
    assert without_data_urls("data:text/plain;base64,aGk=") == "data:text/plain;base64,aGk="


def test_a_cut_is_stated() -> None:
    assert shorten("abcdef", 4, 2) == ("abcdef", 0)
    assert shorten("a" * 5_000 + "z", 3, 1) == ("aaa\n[… 4,997 characters left out …]\nz", 4_997)
    assert shorten("abcdef", 2, 0) == ("ab\n[… 4 characters left out …]\n", 4)
