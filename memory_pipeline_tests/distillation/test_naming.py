from __future__ import annotations

from memory_pipeline.distillation.answer import Named
from memory_pipeline.distillation.contract import Mention
from memory_pipeline.distillation.naming import mentions
from memory_pipeline.distillation.said import Said

SPOKEN = [
    Said("m0", "user", "Does Saltmarsh run on the  Raspberry\nPi at 東京に?"),
    Said("m1", "assistant", "Yes, saltmarsh does; Priya set up the cron job."),
]
HEARD = [Said("m2", "tool", "Host: mudflat, user: Tobias")]


def named(*names: str, kind: str = "thing", description: str = "") -> tuple[Mention, ...]:
    return mentions([Named(name, kind, description) for name in names], SPOKEN, heard=HEARD)


def test_a_mention_cites_the_messages_whose_words_hold_the_name() -> None:
    assert named("saltmarsh") == (Mention("saltmarsh", "thing", "", ("m0", "m1")),)
    assert [m.cites for m in named("Raspberry Pi", "Priya", "東京")] == [("m0",), ("m1",), ("m0",)]


def test_a_name_that_nobody_said_is_left_out() -> None:
    assert named("John Doe", "salt", "mudflat") == ()


def test_a_name_counts_once_however_it_is_spelt_with_the_first_description_there_is() -> None:
    twice = [
        Named("Saltmarsh", "thing", ""),
        Named("saltmarsh", "thing", "A pipeline."),
        Named("SALTMARSH", "thing", "x"),
    ]
    assert mentions(twice, SPOKEN) == (Mention("saltmarsh", "thing", "A pipeline.", ("m0", "m1")),)


def test_a_type_that_is_none_of_the_four_is_left_out() -> None:
    assert named("Priya", kind="person")
    assert named("Priya", kind="string") == ()


def test_a_description_with_a_name_that_nobody_brought_up_is_not_kept() -> None:
    assert [m.description for m in named("Priya", description="Works at Google on Kubernetes.")] == [""]
    assert [m.description for m in named("Priya", description="Set up a job with Tobias.")] == [
        "Set up a job with Tobias."
    ]
