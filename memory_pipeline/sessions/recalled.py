"""What memory tools put into a conversation: blocks of recalled text, which nobody said."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from memory_pipeline.settings import RECALLED_BLOCKS


def without_recalled(text: str, blocks: Collection[str] = RECALLED_BLOCKS) -> str:
    """The text without the blocks of these names, each with what is nested in it.

    A block that is never closed goes to the end of the text where it begins a line or carries attributes; elsewhere
    such a tag is only mentioned, and stays.
    """
    return without_blocks(text, tuple(blocks))


def without_blocks(text: str, names: tuple[str, ...], put: str = "") -> str:
    """The text with ``put`` in the place of each ``<name …>…</name>``; case, ``-`` and ``_`` make no difference."""
    if "<" not in text or not names:
        return text
    tags = list(_tag(names).finditer(text))
    last_closing = {_name(tag): at for at, tag in enumerate(tags) if tag["closing"]}
    kept: list[str] = []
    start = at = 0
    while at < len(tags):
        tag = tags[at]
        at += 1
        if tag["closing"]:  # its opening tag was cut off or removed
            kept.append(text[start : tag.start()])
            start = tag.end()
        elif tag["empty"]:
            continue
        elif last_closing.get(_name(tag), -1) >= at:
            at = _closing(tags, at, last_closing[_name(tag)])
            kept += text[start : tag.start()], put
            start = tags[at - 1].end()
        elif tag["attributes"] or not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip(" \t>"):
            return "".join([*kept, text[start : tag.start()], put])
    return "".join([*kept, text[start:]])


def _closing(tags: list[re.Match[str]], after: int, last: int) -> int:
    """The index behind the tag that closes the block opened just before ``after``: the last one if none balances."""
    name = _name(tags[after - 1])
    depth = 1
    for at in range(after, last + 1):
        if _name(tags[at]) == name and not tags[at]["empty"]:
            depth += -1 if tags[at]["closing"] else 1
            if depth == 0:
                return at + 1
    return last + 1


def _name(tag: re.Match[str]) -> str:
    return tag["name"].lower().replace("_", "-")


@lru_cache(maxsize=8)
def _tag(names: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join("[-_]".join(map(re.escape, re.split("[-_]", name))) for name in names)
    return re.compile(
        rf"<(?P<closing>/\s{{0,4}})?(?P<name>{either})(?P<attributes>\s[^<>]{{0,500}}?)?\s{{0,8}}(?P<empty>/)?>",
        re.IGNORECASE,
    )
