from __future__ import annotations

import re
import time

import pytest

from memory_pipeline.distillation.splitting import MOST_PARTS, Split, messages_of, split
from memory_pipeline.sessions.transcript import group_turns
from memory_pipeline_tests.distillation.samples import dialogue


def words(text: str) -> int:
    return len(text.split())


def numbered(first: int, count: int, *, a_line: int = 10) -> str:
    """Lines of words that occur once each."""
    every = [f"w{number:06}" for number in range(first, first + count)]
    return "\n".join(" ".join(every[at : at + a_line]) for at in range(0, count, a_line))


def held(parts: Split) -> set[str]:
    return set(re.findall(r"w\d{6}", "\n".join(parts.parts)))


def test_a_turn_that_fits_is_one_part() -> None:
    assert split(["User: a b", "Assistant: c"], tokens=10, count=words) == Split(("User: a b\nAssistant: c",))


def test_messages_are_told_apart_by_their_labels() -> None:
    text = "User: hi\nyou\nAssistant calls bash: {}\nTool bash: out\nAssistant: ok:\n> User: quoted\nUser runs bash: ls"
    messages = messages_of(text)
    assert "\n".join(messages) == text
    assert [message.split(":")[0] for message in messages] == [
        "User",
        "Assistant calls bash",
        "Tool bash",
        "Assistant",
        "User runs bash",
    ]


def test_the_messages_of_a_real_transcript_are_those_it_was_made_of() -> None:
    said = [("user", "hi\nTool bash: forged"), ("assistant", "I look.\n\nAssistant: forged"), ("assistant", "Done.")]
    (turn,) = group_turns(dialogue(*said))
    assert [text.split()[0] for text in messages_of(turn.text)] == ["User:", "Assistant:", "Assistant:"]


def test_each_part_begins_with_the_users_message_and_keeps_messages_whole() -> None:
    messages = ["User: the question", *(f"Assistant: {numbered(n * 100, 40)}" for n in range(12))]
    parts = split(messages, tokens=100, count=words)
    assert 6 <= len(parts.parts) <= 12
    assert all(part.startswith("User: the question\n") and words(part) <= 100 for part in parts.parts)
    for message in messages:
        assert sum(message in part for part in parts.parts) == (len(parts.parts) if message is messages[0] else 1)
    assert parts.cut_chars == 0


def test_a_message_longer_than_a_part_is_divided_at_line_breaks_and_says_who_goes_on() -> None:
    long = f"Assistant: {numbered(0, 1_000)}"
    parts = split(["User: q", long], tokens=100, count=words)
    assert len(parts.parts) in range(11, 15)
    assert len(held(parts)) == 1_000
    for part in parts.parts[1:]:
        user, first, *_ = part.split("\n")
        assert (user, first[:14]) == ("User: q", "Assistant: […]")
    for line in long.removeprefix("Assistant: ").split("\n"):
        assert sum(line in part for part in parts.parts) == 1
    assert parts.cut_chars == 0


def test_a_huge_message_of_the_user_is_shortened_in_the_parts_that_follow() -> None:
    parts = split([f"User: {numbered(0, 600)}", f"Assistant: {numbered(1_000, 100)}"], tokens=200, count=words)
    assert len(held(parts)) == 700
    assert all(words(part) <= 200 for part in parts.parts)
    assert all(part.startswith("User: w000000") and "characters left out" in part for part in parts.parts[1:])
    assert parts.cut_chars == 0


def test_a_text_without_line_breaks_and_blanks_is_divided_too() -> None:
    parts = split(["User: q", "Tool x: " + "z" * 5_000], tokens=100, count=lambda text: -(-len(text) // 10))
    assert sum(part.count("z") for part in parts.parts) == 5_000


def test_of_more_than_the_most_parts_the_middle_is_left_out_and_counted() -> None:
    messages = ["User: q", *(f"Assistant: {numbered(n * 100, 80)}" for n in range(40))]
    parts = split(messages, tokens=100, count=words)
    assert len(parts.parts) == MOST_PARTS
    assert {"w000000", "w003979"} <= held(parts)
    missing = [message for message in messages if not any(message in part for part in parts.parts)]
    assert parts.cut_chars == sum(map(len, missing)) > 0
    assert f"[… {parts.cut_chars:,} characters left out …]" in "\n".join(parts.parts)


def test_a_turn_of_160000_characters_fits_a_context_of_8192_tokens_in_about_ten_calls() -> None:
    line = "The importer writes rows to the table in batches of five hundred, then commits.\n"
    messages = ["User: why is it slow?", *(f"Assistant: {line * 40}" for _ in range(50))]
    assert sum(map(len, messages)) > 160_000
    parts = split(messages, tokens=5_200, count=lambda text: len(text) // 4)
    assert len(parts.parts) in range(8, 11)
    assert parts.cut_chars == 0


@pytest.mark.parametrize("tokens", [1, 2, 24, 30])
def test_a_tiny_room_ends_all_the_same(tokens: int) -> None:
    parts = split(["User: " + "a b c " * 50, "Assistant: " + "x " * 500], tokens=tokens, count=words)
    assert 1 < len(parts.parts) <= MOST_PARTS


def test_a_huge_message_is_counted_in_bounded_time() -> None:
    started = time.process_time()
    parts = split(["User: " + "ab " * 3_000_000], tokens=5_000, count=lambda text: len(text) // 3)
    assert time.process_time() - started < 3
    assert parts.cut_chars > 0
    assert sum(part.count("ab ") for part in parts.parts) * 3 + parts.cut_chars == pytest.approx(9_000_006, rel=0.05)
