"""Tags: 3 to 8 short names per memory, lower case, words joined by hyphens."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_pipeline.distillation.marks import is_passing, long_words_in_order, named_things

MOST_TAGS = 8
FEWEST_TAGS = 3
TAG_CHARS = 40

_BETWEEN = re.compile(r"[\W_]+")


def normalise_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags in house form, each once, the first eight."""
    normal = (_BETWEEN.sub("-", tag.lower()).strip("-") for tag in tags)
    return tuple(dict.fromkeys(tag for tag in normal if tag and len(tag) <= TAG_CHARS))[:MOST_TAGS]


def tags_of(text: str) -> tuple[str, ...]:
    """Tags from the names in ``text``; where it has fewer than three, from its longest words too."""
    names = [name for name in named_things(text).values() if any(map(str.isalpha, name)) and not is_passing(name)]
    tags = normalise_tags(names)
    if len(tags) >= FEWEST_TAGS:
        return tags
    words = sorted(long_words_in_order(text), key=len, reverse=True)
    return normalise_tags([*tags, *words])[:FEWEST_TAGS]
