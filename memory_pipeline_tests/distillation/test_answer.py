from __future__ import annotations

import json
import time

import pytest

from memory_pipeline.distillation.answer import Answer, Named, read_answer
from memory_pipeline.distillation.contract import Proposal
from memory_pipeline.errors import ModelAnswerError

ONE = {
    "summary": "Only pnpm is used.",
    "tags": ["Package Manager", "pnpm", "ci"],
    "evidence": ["only pnpm"],
    "language": "en",
}
PNPM = {"name": "pnpm", "type": "thing", "description": "The package manager."}
ASKED_FOR = json.dumps({"memories": [ONE], "entities": [PNPM]})
PROPOSAL = Proposal("Only pnpm is used.", ("package-manager", "pnpm", "ci"), ("only pnpm",), "en")
EXPECTED = Answer((PROPOSAL,), (Named("pnpm", "thing", "The package manager."),))


@pytest.mark.parametrize(
    "content",
    [
        ASKED_FOR,
        f"```json\n{ASKED_FOR}\n```",
        f"Here is what is worth knowing:\n```json\n{ASKED_FOR}\n```\nTell me if you need more.",
        f"{ASKED_FOR}\n\nI left out the greeting [1].",
        f"<think>Is it {{worth}} it?</think>\n{ASKED_FOR}",
        f"<think>\n\n</think>\n\n```\n{ASKED_FOR}```",
        f"Is it worth it?\n</think>{ASKED_FOR}",
        f"<think>I shall strip </think> tags.</think>{ASKED_FOR}",
        f"<think>First I look for {{braces}} and [lists].\n\n{ASKED_FOR}",
        f'<think>A draft: {{"memories": []}}. No, better:\n{ASKED_FOR}\n',
        "\ufeff" + ASKED_FOR,
    ],
    ids=[
        "as asked",
        "fenced",
        "fenced, with words around",
        "words after it",
        "after thoughts",
        "after empty thoughts",
        "thoughts without a beginning",
        "thoughts that name their tag",
        "thoughts without an end",
        "a draft in thoughts without an end",
        "byte order mark",
    ],
)
def test_a_whole_answer_is_read_wherever_it_stands(content: str) -> None:
    assert read_answer(content) == EXPECTED


@pytest.mark.parametrize(
    "content",
    [
        ASKED_FOR.replace("}]}", "},],}"),
        ASKED_FOR[:-2],
        ASKED_FOR.replace('"', "'"),
        ASKED_FOR.replace('"memories"', "memories"),
        ASKED_FOR.replace(', "evidence"', ' "evidence"'),
        ASKED_FOR + "}]",
    ],
    ids=[
        "commas too many",
        "brackets missing",
        "single quotes",
        "key without quotes",
        "comma missing",
        "brackets over",
    ],
)
def test_damaged_json_is_repaired(content: str) -> None:
    assert read_answer(content) == EXPECTED


def test_a_closing_tag_of_thoughts_inside_a_memory_is_no_end_of_thoughts() -> None:
    content = json.dumps({"memories": [{**ONE, "summary": "The reader strips </think> tags."}]})
    assert read_answer(content).proposals[0].summary == "The reader strips </think> tags."
    assert read_answer(f"<think>Hm.</think>{content}").proposals[0].summary == "The reader strips </think> tags."


def test_quotes_and_line_breaks_that_nobody_escaped_stay_in_the_memory() -> None:
    content = '{"memories": [{"summary": "The flag "strict"\nis on.", "tags": ["a", "b", "c"], "evidence": ["x"]}]}'
    assert read_answer(content).proposals[0].summary == 'The flag "strict" is on.'


@pytest.mark.parametrize("end", [*range(len('{"memories": ['), len(ASKED_FOR) - 2, 3)])
def test_an_answer_that_breaks_off_is_never_completed_by_guessing(end: int) -> None:
    """Wherever it is cut: all that is read of it stands in the whole one."""
    try:
        read = read_answer(ASKED_FOR[:end])
    except ModelAnswerError:
        return
    assert read.proposals == () or read.proposals[0].summary == PROPOSAL.summary
    assert all(quote in PROPOSAL.evidence for p in read.proposals for quote in p.evidence)
    assert all(tag in PROPOSAL.tags for p in read.proposals for tag in p.tags)
    assert read.proposals or read.named


def test_a_memory_that_breaks_off_takes_its_answer_along() -> None:
    for cut in ('{"memories": [', '{"memories": [{"summary": "Only pn', ASKED_FOR[: ASKED_FOR.index("pnpm is") + 9]):
        with pytest.raises(ModelAnswerError, match=r"breaks off|not JSON"):
            read_answer(cut)


def test_a_bare_list_is_taken_as_the_memories() -> None:
    assert read_answer(json.dumps([ONE])) == Answer((PROPOSAL,))


@pytest.mark.parametrize("content", ['{"memories": []}', "[]", "```json\n[]\n```", '{"memories": [], "entities": []}'])
def test_nothing_worth_keeping_is_an_answer(content: str) -> None:
    assert read_answer(content) == Answer()


def test_keys_that_nobody_asked_for_are_ignored() -> None:
    content = json.dumps({"thoughts": "…", "memories": [{**ONE, "confidence": 0.9}], "entities": [{**PNPM, "id": 1}]})
    assert read_answer(content) == EXPECTED


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("<think>hm</think>", "empty"),
        ("<think>There is nothing worth remembering.", "not JSON"),
        ("There is nothing worth remembering.", "not JSON"),
        ("There is nothing [worth] remembering {here}.", "not JSON"),
        ("just text " * 50 + ASKED_FOR, "not JSON"),
        ("{}", "not memories"),
        ("null", "not JSON"),
        ('"memories"', "not JSON"),
        ("[1, 2]", "not memories"),
        ('{"memories": null}', "not memories"),
        ('{"memories": ["just text"]}', "not memories"),
        ('{"memories": [{"summary": "just text"}]}', "not memories"),
        ('{"memories": [{"summary": "  ", "tags": []}]}', "not memories"),
        ('{"memories": [{"summary": 7, "tags": []}]}', "not memories"),
        ('{"memories": [{"summary": "just text", "tags": "a, b"}]}', "not memories"),
        ('{"memories": [{"summary": "just text", "tags": [1]}]}', "not memories"),
        ('{"memories": [{"summary": "just text", "tags": [], "evidence": "just text"}]}', "not memories"),
        ('{"memories": {"summary": "just text", "tags": []}}', "not memories"),
        ('{"memories": [], "entities": [{"name": "just text", "type": 1}]}', "not memories"),
        ('{"summary": "just text", "tags": []}', "not memories"),
        ('{"items": []}', "not memories"),
        ('{"answer": {"memories": []}}', "not memories"),
        ('{"$defs": {}, "memories": []}', "echoes the schema"),
        ('{"type": "object", "properties": {"memories": {"type": "array"}}}', "echoes the schema"),
        (f'{ASKED_FOR}\n{{"memories": []}}', "several"),
        (f'<think>{ASKED_FOR} or {{"memories": []}}, which one?', "several"),
        ("[" * 50_000, "not JSON"),
        ('{"a":' * 50_000, "not JSON"),
        ('{"memories": ' + "[" * 50_000, "not"),
    ],
)
def test_anything_else_is_refused_in_a_sentence_without_its_words(content: str, what: str) -> None:
    with pytest.raises(ModelAnswerError, match=what) as caught:
        read_answer(content)
    sentence = str(caught.value)
    assert sentence.startswith("the model's answer")
    assert "worth" not in sentence and "just text" not in sentence


@pytest.mark.parametrize(
    ("summary", "what"),
    [
        ("I'm sorry, but I could not find any relevant information.", "a refusal"),
        ("There is no relevant information to remember in this turn.", "a refusal"),
        ("Es gibt keine Informationen zum Merken.", "a refusal"),
        ("本次对话没有值得记住的信息", "a refusal"),
        ("None", "a placeholder"),
        ("...", "a placeholder"),
        ('"summary": "Only pnpm', "a scrap"),
        ("pnpm", "a scrap"),
        ("Most turns hold no or one memory; several only for separate ideas.", "an echo"),
        ("User: only pnpm\nAssistant: Understood.", "an echo"),
    ],
)
def test_what_is_no_memory_inside_valid_json_is_refused(summary: str, what: str) -> None:
    with pytest.raises(ModelAnswerError, match=f"{what} in the place of a memory"):
        read_answer(json.dumps({"memories": [{**ONE, "summary": summary}]}))
    beside = read_answer(json.dumps({"memories": [ONE, {**ONE, "summary": summary}]}))
    assert (beside.proposals, beside.dropped) == ((PROPOSAL,), (what,))


@pytest.mark.parametrize(
    "summary",
    [
        "The server refuses requests without a key: I cannot be turned off.",
        "No information about the user leaves the host.",
        "The session contains no cookie because SameSite is strict.",
        "No context is found by the parser when the file is empty.",
        "Nothing is committed on Fridays.",
        "Die Datenbank hat keine Backups, weil der Cron fehlt.",
        "部署在周五进行",
        "User: prefers tabs over spaces.",
        "The config's {port} placeholder is filled from .env.",
        "Port 5432 is taken.",
    ],
)
def test_statements_that_look_a_little_like_refusals_are_memories(summary: str) -> None:
    assert read_answer(json.dumps([{**ONE, "summary": summary}])).proposals[0].summary == summary


def test_a_language_is_a_code_or_unknown() -> None:
    for given, kept in (("DE ", "de"), ("German", None), ("", None), (None, None)):
        assert read_answer(json.dumps([{**ONE, "language": given}])).proposals[0].language == kept


@pytest.mark.parametrize("scrap", ['{"memories": [', "<think>[", '"', "no ", '{"memories": [{"summary": "a" "b" '])
def test_hostile_replies_cost_no_time(scrap: str) -> None:
    started = time.process_time()
    with pytest.raises(ModelAnswerError):
        read_answer(scrap * (200_000 // len(scrap)))
    assert time.process_time() - started < 1.5
