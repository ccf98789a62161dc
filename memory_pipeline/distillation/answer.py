"""Reads a model's answer; what is not exactly the shape asked for is refused, never mended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from memory_pipeline.distillation.tags import normalise_tags
from memory_pipeline.errors import ModelAnswerError

LONGEST_SUMMARY = 1_000
"""Characters; what is longer is no summary of one idea."""

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Memory:
    summary: str
    tags: tuple[str, ...]


class _Memory(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_SUMMARY)]
    tags: list[str]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    memories: list[_Memory]


_SHAPES: TypeAdapter[_Answer | list[_Memory]] = TypeAdapter(_Answer | list[_Memory])


def read_answer(content: str) -> list[Memory]:
    """The memories in ``content``, none where the model found nothing worth keeping.

    Thoughts before the answer, a code fence around it and a bare list are taken; ModelAnswerError for all else. The
    error says what kind of fault it is without a word of the answer.
    """
    text = _THOUGHT.sub("", content).strip()
    fenced = _FENCED.match(text)
    try:
        answer = _SHAPES.validate_json(fenced[1] if fenced else text)
    except ValidationError as error:
        raise ModelAnswerError(_sentence(text, error)) from None
    memories = answer.memories if isinstance(answer, _Answer) else answer
    return [Memory(" ".join(memory.summary.split()), normalise_tags(memory.tags)) for memory in memories]


def _sentence(text: str, error: ValidationError) -> str:
    if not text:
        return "the model's answer was empty"
    if any(item["type"] == "json_invalid" for item in error.errors(include_input=False)):
        return f"the model's answer of {len(text)} characters is not JSON"
    return "the model's answer is JSON, but not memories with a summary and tags"
