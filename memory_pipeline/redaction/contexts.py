"""Which reader looks at the text around which signal. No vendor is known to any, only kinds of text."""

from __future__ import annotations

from collections.abc import Callable

from memory_pipeline.redaction.lines import (
    address,
    key_word,
    login,
    option,
    oracle,
    password_hash,
    password_word,
    pgpass,
    scheme,
    sudo,
)
from memory_pipeline.redaction.named import Found, pass_word
from memory_pipeline.redaction.shapes import bot, codes, prefixed, private_key, random_run

READERS: dict[str, Callable[[bytes, int, int], Found]] = {
    "password": password_word,
    "key": key_word,
    "pass": pass_word,
    "flag": key_word,
    "sudo": sudo,
    "scheme": scheme,
    "address": address,
    "oracle": oracle,
    "option": option,
    "login": login,
    "hash": password_hash,
    "pgpass": pgpass,
    "private-key": private_key,
    "codes": codes,
    "random": random_run,
    "prefixed": prefixed,
    "bot": bot,
}
"""Signal → its reader; ``packed`` is read by ``packing``."""
