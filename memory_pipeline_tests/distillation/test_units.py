from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.distillation.units import count_sentences, typed_units, units


def texts(message: str) -> list[str]:
    return [unit.text for unit in units(message)]


def test_sentences_are_not_cut_inside_code_quotes_brackets_addresses_and_abbreviations() -> None:
    message = (
        'Run `make x. Then y` first. He wrote "No. Never." twice (see a. B. C). It is e.g. port 22. '
        "The page https://a.example/b.c. Ends here, z. B. am 12. April. Done"
    )
    assert texts(message) == [
        "Run `make x. Then y` first.",
        'He wrote "No. Never." twice (see a. B. C).',
        "It is e.g. port 22.",
        "The page https://a.example/b.c.",
        "Ends here, z. B. am 12. April.",
        "Done",
    ]


def test_code_headings_tables_quotes_shell_lines_and_traces_are_no_units() -> None:
    message = """# Heading one. Two

Kept.
```python
dropped = 1. + 2.
```
**Changes made:**
| a | b |
> quoted. words
$ rm -rf build
Traceback (most recent call last):
  File "x.py", line 3, in f
    at run (app.js:10:3)
Kept too."""
    assert texts(message) == ["Kept.", "Kept too."]


def test_context_blocks_are_no_units() -> None:
    message = 'Before.\n<memory tier="facts">\n- The port is 9.\n</memory>\n<file name="a">x</file>\nAfter.'
    assert texts(message) == ["Before.", "After."]


def test_a_tag_that_is_never_closed_hides_nothing_but_its_own_words() -> None:
    assert "Still read." in texts("<memory>\nStill read.")


def test_wrapped_lines_are_one_sentence_and_their_source_keeps_the_line_break() -> None:
    (unit,) = units("The cache is kept\nfor ten days")
    assert unit.text == "The cache is kept for ten days"
    assert unit.source == "The cache is kept\nfor ten days"


def test_a_lead_in_takes_its_items_and_each_other_item_is_a_unit() -> None:
    message = "Two rules:\n- **never** push\n- ask first\n\nUnrelated.\n* alone\nA line below."
    assert texts(message) == ["Two rules: never push; ask first", "Unrelated.", "alone", "A line below."]


def test_a_lead_in_takes_no_more_items_than_fit() -> None:
    message = "All of it:\n" + "\n".join(f"- item {n} " + "x" * 50 for n in range(9))
    first, *rest = texts(message)
    assert first.startswith("All of it: item 0")
    assert len(first) <= 240
    assert len(rest) == 9 - first.count("item")


def test_what_a_user_pastes_is_not_what_a_user_typed() -> None:
    message = (
        "why does this fail\n"
        "2026-05-04T10:00:00Z ERROR pool exhausted\n"
        "const a = b;\n"
        '{"code": 17}\n'
        "ERROR in worker\n"
        "we keep one pool per process"
    )
    assert [u.text for u in typed_units(message)] == ["why does this fail", "we keep one pool per process"]


def test_of_a_long_message_the_beginning_and_the_end_are_read() -> None:
    message = "First words. " + "Middle filler here. " * 2_000 + "Last words."
    found = texts(message)
    assert (found[0], found[-1]) == ("First words.", "Last words.")
    assert sum(map(len, found)) <= 8_000


def test_sentences_are_counted() -> None:
    assert count_sentences("One. Two (see 3. There)! Three?") == 3


def test_wide_stops_end_a_sentence_without_a_space() -> None:
    assert texts("原因はここです。「はい。いいえ。」と言う！終わり") == [
        "原因はここです。",
        "「はい。いいえ。」と言う！",
        "終わり",
    ]
    assert texts("यह पहला है। यह दूसरा है।") == ["यह पहला है।", "यह दूसरा है।"]


def test_a_unit_of_measure_is_no_abbreviation() -> None:
    assert texts("It took 3.1 s. Next comes b. Z.") == ["It took 3.1 s.", "Next comes b. Z."]


def test_units_know_the_list_they_are_in() -> None:
    message = "Intro.\n\nRules:\n- " + "x" * 238 + "\n- b\n\nOutro.\n- c"
    groups = [(unit.group, unit.item) for unit in units(message)]
    assert groups == [(1, False), (2, False), (2, True), (2, True), (3, False), (4, True)]


def test_lines_that_differ_in_their_numbers_only_were_not_typed() -> None:
    log = "\n".join(f"otter-{n} took {n * 7} ms" for n in range(5))
    assert [u.text for u in typed_units(f"why so slow\n{log}")] == ["why so slow"]
    assert len(typed_units("1. fix the parser\n2. ask Ines\n3. ship it")) == 3
    assert len(units(log)) == 1


@given(st.text(alphabet=st.sampled_from("ab .:!?-*`\n#<>()\"'1/\t"), max_size=300))
def test_every_source_stands_verbatim_in_the_message(message: str) -> None:
    for unit in [*units(message), *typed_units(message)]:
        assert unit.source in message
        assert unit.text
        assert "\n" not in unit.text
