from __future__ import annotations

import json

import pytest

from memory_pipeline.distillation.answer import Memory, read_answer
from memory_pipeline.errors import ModelAnswerError

ONE = {"summary": "Only pnpm is used.", "tags": ["Package Manager", "pnpm", "ci"]}
EXPECTED = Memory("Only pnpm is used.", ("package-manager", "pnpm", "ci"))


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"memories": [ONE]}),
        json.dumps([ONE]),
        f"```json\n{json.dumps({'memories': [ONE]})}\n```",
        f"<think>Is it {{worth}} it?</think>\n{json.dumps({'memories': [ONE]})}",
    ],
    ids=["as asked", "bare list", "fenced", "after thoughts"],
)
def test_memories_are_read(content: str) -> None:
    assert read_answer(content) == [EXPECTED]


@pytest.mark.parametrize("content", ['{"memories": []}', "[]"])
def test_nothing_worth_keeping_is_an_answer(content: str) -> None:
    assert read_answer(content) == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   ",
        "<think>hm</think>",
        "There is nothing worth remembering.",
        '{"memories": [{"summary": "cut o',
        "{}",
        "null",
        '"memories"',
        '{"memories": null}',
        '{"memories": ["just text"]}',
        '{"memories": [{"summary": "x"}]}',
        '{"memories": [{"summary": "  ", "tags": []}]}',
        json.dumps({"memories": [{"summary": "just text " * 200, "tags": []}]}),
        '{"memories": [{"summary": 7, "tags": []}]}',
        '{"memories": [{"summary": "x", "tags": "a, b"}]}',
        '{"memories": [{"summary": "x", "tags": [], "note": "y"}]}',
        '{"items": []}',
        '{"$defs": {}, "memories": []}',
        '{"type": "object", "properties": {"memories": {}}}',
    ],
)
def test_anything_else_is_refused_in_a_sentence_without_its_words(content: str) -> None:
    with pytest.raises(ModelAnswerError) as caught:
        read_answer(content)
    sentence = str(caught.value)
    assert sentence.startswith("the model's answer")
    assert "worth remembering" not in sentence and "just text" not in sentence and "cut o" not in sentence


def test_line_breaks_in_a_summary_become_blanks() -> None:
    assert read_answer('[{"summary": "One\\n\\nidea.", "tags": []}]') == [Memory("One idea.", ())]
