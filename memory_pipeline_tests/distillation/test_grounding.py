"""A memory is kept for what its turn bears out, mended where the quotes allow it, and dropped with a reason else."""

from __future__ import annotations

import time

import pytest

from memory_pipeline.distillation.contract import Draft, Judged, Proposal
from memory_pipeline.distillation.grounding import MISPLACED, NO_QUOTE, NOT_THE_USERS, ONLY_HEARD, UNSAID, judge
from memory_pipeline.distillation.said import Said

USER = Said("m0", "user", "Please move the dev database to port 5433, Ada needs 5432. I prefer answers in German.")
ASSISTANT = Said(
    "m1",
    "assistant",
    "The dev database of `harbour` listens on port 5433 now – see **deploy/compose.yaml**.\n"
    "The web server runs Caddy v2.9.1 and allows 3,000 connections. Redis keeps sessions for 12 hours.",
)
TOOL = Said("m2", "tool", "postgres: listening on 5432\nnginx/1.27.3\ncontainer pier-7 started")
SPOKEN = [USER, ASSISTANT]


def judged(summary: str, *evidence: str, spoken: list[Said] | None = None) -> Judged:
    return judge([Proposal(summary, ("tag",), evidence)], SPOKEN if spoken is None else spoken, heard=[TOOL])


def kept(summary: str, *evidence: str) -> Draft:
    (draft,) = judged(summary, *evidence).drafts
    return draft


def test_quotes_are_cited_as_they_stand_in_the_turn() -> None:
    quote = "the dev database of harbour  listens on port 5433 now - see deploy/compose.yaml"
    draft = kept("The dev database of harbour listens on port 5433.", quote)
    assert draft.evidence == ("The dev database of `harbour` listens on port 5433 now – see **deploy/compose.yaml",)
    assert (draft.cites, draft.trust, draft.language) == (("m1",), "assistant", "en")


def test_an_elision_splits_a_quote() -> None:
    draft = kept("The dev database listens on port 5433.", "The dev database … port 5433 now")
    assert draft.evidence == ("The dev database", "port 5433 now")


def test_trust_is_the_lowest_of_those_quoted() -> None:
    assert kept("Ada needs port 5432.", "Ada needs 5432").trust == "user"
    assert kept("The dev database moved to port 5433.", "dev database to port 5433", "listens on port 5433").trust == (
        "assistant"
    )


def test_quotes_that_do_not_occur_are_dropped_and_what_bears_it_out_is_found() -> None:
    draft = kept("The web server runs Caddy v2.9.1 and allows 3000 connections.", "Caddy is what serves the web here")
    assert draft.evidence == ("The web server runs Caddy v2.9.1 and allows 3,000 connections.",)


def test_what_nothing_bears_out_is_dropped() -> None:
    assert judged("Commit messages follow a convention with scopes.", "use commitlint").dropped == (NO_QUOTE,)


def test_tool_output_alone_makes_no_memory() -> None:
    assert judged("Nginx runs in version 1.27.3.", "nginx/1.27.3").dropped == (ONLY_HEARD,)


@pytest.mark.parametrize(
    "summary", ["Hauke Brandt works on the dev database of port 5433.", "Port 5433 is for MariaDB."]
)
def test_an_invented_name_in_a_true_sentence_does_not_survive(summary: str) -> None:
    result = judged(summary, "listens on port 5433 now")
    assert not any(name in draft.summary for draft in result.drafts for name in ("Hauke", "Brandt", "MariaDB"))


def test_an_invented_user_profile_is_dropped() -> None:
    result = judged("The user is John Doe, an engineer at Google.", "Please move the dev database to port 5433")
    assert result.drafts == ()


def test_a_slip_is_mended_from_the_quote() -> None:
    quote = "The dev database of harbour listens on port 5433"
    assert kept("The dev database of harbour listens on port 5343.", quote).summary.endswith("port 5433.")


def test_a_value_of_something_else_in_the_turn_is_noticed() -> None:
    quote = "The dev database of harbour listens on port 5433"
    for draft in judged("The dev database of harbour listens on port 12.", quote).drafts:
        assert "12" not in draft.summary


@pytest.mark.parametrize(
    "summary",
    [
        "The web server allows 3000 connections at a time with Caddy.",
        "Redis keeps sessions for twelve hours.",
        "The dev database listens on 5433, see compose.yaml.",
        "The web server runs Caddy 2.9.1.",
    ],
)
def test_other_ways_to_write_the_same_value_hold(summary: str) -> None:
    assert judged(summary).drafts[0].summary == summary


def test_what_cannot_be_mended_is_cut_out_or_dropped_with_a_reason() -> None:
    quote = "Redis keeps sessions for 12 hours"
    assert kept("Redis keeps sessions for 12 hours (in /var/lib/zeta).", quote).summary == (
        "Redis keeps sessions for 12 hours."
    )
    assert judged("Redis keeps sessions in /var/lib/zeta.", quote).dropped == (UNSAID,)
    assert MISPLACED != UNSAID


def test_reasons_hold_no_word_of_what_was_dropped() -> None:
    for reason in judged("Zanzibar keeps all of it in /var/lib/zeta.", "no such words").dropped:
        assert "zeta" not in reason.lower()
        assert "zanzibar" not in reason.lower()


def test_facts_about_the_user_need_the_users_own_words() -> None:
    assert kept("The user prefers answers in German.", "I prefer answers in German").trust == "user"
    claim = Said("m3", "assistant", "You seem to like long answers with many tables and diagrams.")
    result = judged(
        "The user likes long answers with many tables.", "like long answers with many tables", spoken=[USER, claim]
    )
    assert result.dropped == (NOT_THE_USERS,)


def test_a_name_that_only_a_tool_printed_lowers_the_trust() -> None:
    draft = kept("The container pier-7 started; the dev database listens on port 5433.", "listens on port 5433 now")
    assert draft.trust == "tool"


def test_the_projects_name_need_not_be_said() -> None:
    proposal = Proposal("In tidelog Redis keeps sessions for 12 hours.", (), ("Redis keeps sessions for 12 hours",))
    assert judge([proposal], SPOKEN).drafts == ()
    assert judge([proposal], SPOKEN, known=["tidelog"]).drafts[0].summary == proposal.summary


def test_a_long_turn_is_judged_within_a_second() -> None:
    line = "Module {n} was read again and the tests of part {n} passed without a word about anything.\n"
    text = "".join(line.format(n=n) for n in range(2_200))
    assert len(text) > 190_000
    proposal = Proposal("The dev database listens on port 5433.", (), ("listens on port 5433 now",))
    judged(proposal.summary)  # loads dictionaries
    spoken = [USER, Said("m1", "assistant", ASSISTANT.text + "\n" + text)]
    started = time.process_time()
    (draft,) = judge([proposal], spoken, heard=[TOOL]).drafts
    assert time.process_time() - started < 1.0
    assert draft.summary == proposal.summary
