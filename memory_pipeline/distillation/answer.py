"""Reads a model's answer strictly: a wrong type is refused, an unknown key ignored, nothing coerced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from memory_pipeline.distillation.contract import Proposal
from memory_pipeline.distillation.misshapen import misshapen
from memory_pipeline.distillation.replied_json import replied_json
from memory_pipeline.distillation.tags import normalise_tags
from memory_pipeline.errors import ModelAnswerError

_OF_A_SCHEMA = ("$defs", "$schema", "properties")
_LANGUAGE = re.compile(r"[a-z]{2}")


@dataclass(frozen=True, slots=True)
class Named:
    """Something that the model says is named in the turn."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model proposes; ``dropped``: why memories in it are none, one reason each."""

    proposals: tuple[Proposal, ...] = ()
    named: tuple[Named, ...] = ()
    dropped: tuple[str, ...] = ()


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Memory(_Strict):
    summary: _Text
    tags: list[str]
    evidence: list[str] = Field(default_factory=list)
    language: str | None = None


class _Entity(_Strict):
    name: _Text
    type: str
    description: str = ""


class _Answer(_Strict):
    memories: list[_Memory]
    entities: list[_Entity] = Field(default_factory=list)


_SHAPES: TypeAdapter[_Answer | list[_Memory]] = TypeAdapter(_Answer | list[_Memory])


def read_answer(content: str) -> Answer:
    """What ``content`` proposes, nothing where the model found nothing worth keeping.

    Raises ModelAnswerError, saying what kind of fault it is without a word of the answer: no JSON, broken off, the
    schema itself, another shape, or nothing but refusals and scraps in the place of memories.
    """
    value = replied_json(content, _may_be_answer)
    if isinstance(value, dict) and any(key in value for key in _OF_A_SCHEMA):
        raise ModelAnswerError("the model's answer echoes the schema instead of filling it")
    try:
        read = _SHAPES.validate_python(value)
    except (ValidationError, RecursionError):
        raise ModelAnswerError("the model's answer is JSON, but not memories with a summary and tags") from None
    answer = read if isinstance(read, _Answer) else _Answer(memories=read)
    faults = [misshapen(memory.summary) for memory in answer.memories]
    dropped = tuple(fault for fault in faults if fault is not None)
    if dropped and len(dropped) == len(faults):
        raise ModelAnswerError(f"the model's answer holds {dropped[0]} in the place of a memory")
    return Answer(
        tuple(_proposal(m) for m, fault in zip(answer.memories, faults, strict=True) if fault is None),
        tuple(Named(_one_line(e.name), e.type, _one_line(e.description)) for e in answer.entities),
        dropped,
    )


def _may_be_answer(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, dict) and "summary" in item for item in value)
    return isinstance(value, dict) and "memories" in value


def _proposal(memory: _Memory) -> Proposal:
    language = memory.language.strip().lower() if memory.language else ""
    return Proposal(
        _one_line(memory.summary),
        normalise_tags(memory.tags),
        tuple(quote for quote in memory.evidence if quote.strip()),
        language if _LANGUAGE.fullmatch(language) else None,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
