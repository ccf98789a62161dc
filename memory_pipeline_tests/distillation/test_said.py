"""What counts as said: not what memory tools, attachments, pasted files, summaries and the pipeline put there."""

from __future__ import annotations

import time

import pytest

from memory_pipeline.distillation.prompt import INSTRUCTIONS
from memory_pipeline.distillation.said import heard, is_own_session, said
from memory_pipeline.sessions.recalled import without_recalled
from memory_pipeline.settings import RECALLED_BLOCKS, load_settings
from memory_pipeline_tests.distillation.samples import dialogue, message

AGENTS = """# AGENTS.md

## Build

- Use bun, never node.
- Run `make check` before each commit.

## Style

- Two spaces, no default exports.
- Keep functions short and pure, and name them by what they return.
"""


@pytest.mark.parametrize("name", RECALLED_BLOCKS)
def test_recalled_blocks_are_taken_out_whoever_put_them_there(name: str) -> None:
    block = f'<{name} tier="facts">\n- The editor is Helix.\n</{name}>'
    assert without_recalled(f"Before.\n{block}\nAfter.") == "Before.\n\nAfter."
    assert without_recalled(f"Before. {block.upper()} After.") == "Before.  After."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <memory>x <memory>y</memory> z</memory> b", "a  b"),
        ("a <memories>x <memory>y</memory> z</memories> b", "a  b"),
        ("mine\n<recalled_memory>\n- never closed\n- at all", "mine\n"),
        ('mine <memory tier="facts">never closed', "mine "),
        ("<memory>x <memory>y</memory> mine", " mine"),
        ("cut off</memory> mine", "cut off mine"),
    ],
)
def test_nested_and_unclosed_blocks_leave_nothing_behind(text: str, left: str) -> None:
    assert without_recalled(text) == left


@pytest.mark.parametrize("text", ["the `<memory>` tag of our format", "a < b and c > d", "<MemoryRouter>", "<memory/>"])
def test_a_tag_that_is_only_mentioned_stays(text: str) -> None:
    assert without_recalled(text) == text


def test_other_blocks_can_be_named_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_RECALLED_BLOCKS", "memory, <brain-dump>")
    blocks = load_settings().recalled_blocks
    assert blocks == ("memory", "brain-dump")
    assert without_recalled("a <brain_dump>x</brain_dump> b", blocks) == "a  b"


def test_hostile_tags_take_no_time() -> None:
    started = time.perf_counter()
    for text in ("<memory>" * 25_000, "<memory x> </memories>" * 9_000, "<memory " * 25_000, "</memory>" * 22_000):
        without_recalled(text)
    assert time.perf_counter() - started < 2


def test_only_the_words_of_people_on_the_active_path_are_said() -> None:
    messages = [
        message("user", "Use port 5433.", index=0),
        message("assistant", "Done.", index=1),
        message("tool", "printed", index=2, tool_name="bash"),
        message("custom", "recalled: the editor is Helix", index=3, kind="custom_message"),
        message("system", "You are an agent.", index=4),
        message("system", "The user asked for a port. " * 200, index=5, kind="compaction"),
        message("system", "A branch was given up.", index=6, kind="branch_summary"),
        message("assistant", "Taken back.", index=7, active=False),
    ]
    assert [one.text for one in said(messages)] == ["Use port 5433.", "Done."]
    assert [one.text for one in heard(messages)] == ["printed"]


def test_what_memory_gave_back_three_times_over_adds_nothing() -> None:
    block = '<memory tier="summaries">\n- The port is 5433.\n</memory>'
    assert said(dialogue(("user", block * 3))) == []
    assert heard(dialogue(("user", block * 3))) == []


@pytest.mark.parametrize(
    "whole", [AGENTS + "\nI prefer commits in German.", "I prefer commits in German.\n\n" + AGENTS]
)
def test_of_a_pasted_instruction_file_with_a_wish_only_the_wish_is_said(whole: str) -> None:
    (words,) = said(dialogue(("user", whole)))
    assert words.text.strip() == "I prefer commits in German."
    assert [one.role for one in heard(dialogue(("user", whole)))] == ["tool"]


@pytest.mark.parametrize(
    "pasted",
    [
        '<file name="/repo/AGENTS.md">\n# Rules\n</file>\n',
        '<skill name="pdf" location="/skills/pdf">\nAlways print twice.\n</skill>\n',
        "<system-reminder>Be brief.</system-reminder>",
        "<!-- a hidden remark -->",
    ],
)
def test_attached_files_skills_and_hidden_remarks_are_not_said(pasted: str) -> None:
    (words,) = said(dialogue(("user", f"{pasted}Make it work.")))
    assert words.text.strip() == "Make it work."


def test_a_users_own_plan_with_headings_is_said() -> None:
    plan = "# Plan\n\n## First\n\n- move the port to 5433\n\n## Then\n\n- tell Ada\n" + "- and so on\n" * 20
    assert said(dialogue(("user", plan)))[0].text == plan


def test_the_pipelines_own_calls_say_nothing() -> None:
    own = dialogue(("system", INSTRUCTIONS), ("user", "<turn>\nUser: hi\n</turn>"), ("assistant", '{"memories": []}'))
    assert is_own_session(own)
    assert said(own) == []
    assert is_own_session(dialogue(("user", INSTRUCTIONS + "\n<turn>…")))


def test_work_on_the_pipeline_is_no_call_of_its_own() -> None:
    work = dialogue(
        ("user", "Shorten the prompt, please."), ("tool", INSTRUCTIONS), ("assistant", "It is shorter now.")
    )
    assert not is_own_session(work)
    assert len(said(work)) == 2
