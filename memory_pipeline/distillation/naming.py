"""What a model says is named in a turn, as far as somebody there named it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_pipeline.distillation.answer import Named
from memory_pipeline.distillation.contract import Mention
from memory_pipeline.distillation.marks import named_things
from memory_pipeline.distillation.said import Said

TYPES = ("person", "place", "thing", "concept")


def mentions(named: Iterable[Named], spoken: Sequence[Said], *, heard: Sequence[Said] = ()) -> tuple[Mention, ...]:
    """Each name once, citing the messages whose words hold it; what nobody said, or is of no known type, is left out.

    A description that brings in a name of its own, which neither ``spoken`` nor ``heard`` (tool output) hold, is empty.
    """
    words = {message.doc_id: _plain(message.text) for message in spoken}
    everything = "\n".join([*words.values(), *(_plain(message.text) for message in heard)])
    found: dict[str, Mention] = {}
    for one in named:
        name = _plain(one.name)
        holds = _name_in(name)
        cites = tuple(doc_id for doc_id, text in words.items() if holds.search(text))
        if not cites or one.type not in TYPES:
            continue
        description = one.description if all(_plain(n) in everything for n in named_things(one.description)) else ""
        if name not in found or not found[name].description:
            found[name] = Mention(one.name, one.type, description, cites)
    return tuple(found.values())


def _name_in(name: str) -> re.Pattern[str]:
    """The name as a whole word, or as it stands where its script writes no blanks between words."""
    before = r"(?<![a-z0-9])" if re.match(r"[a-z0-9]", name) else ""
    after = r"(?![a-z0-9])" if re.search(r"[a-z0-9]$", name) else ""
    return re.compile(before + re.escape(name) + after)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
