"""The server that replays recorded answers: it finds the turn in whatever prompt, and fills whatever schema."""

from __future__ import annotations

import httpx
import pytest

from benchmarks.quality.replay import MODEL, Finder, Recorded, replaying, shaped

ANSWER = {
    "memories": [
        {"summary": "Port 5433 is used.", "tags": ["port", "postgres", "host", "dev"], "evidence": ["port 5433"]},
        {"summary": "Der Server steht in der Küche.", "tags": ["server"], "evidence": ["in der Küche"]},
    ],
    "entities": [{"name": "Postgres", "type": "thing", "description": "A database."}],
}


def turn(asked: str, *told: str, session: str = "one", started: str = "2026-02-03T08:14:22.118Z") -> Recorded:
    return Recorded(session, started, asked, told, ANSWER)


def test_a_turn_is_known_by_its_user_s_words() -> None:
    turns = [turn("which port is free?"), turn("which port is free on the second host?"), turn("go on")]
    finder = Finder(turns)
    assert finder.find("<turn>\nUser: Which port\nis free on the second host?\n</turn>") is turns[1]
    assert finder.find("User: which port is free?\nAssistant: Let me go on.") is turns[0]
    assert finder.find("User: Go on!") is turns[2]
    assert finder.find("User: something else") is None


def test_of_turns_with_the_same_words_the_answers_tell_and_the_place_decides() -> None:
    turns = [
        turn("go on", "The parser is done."),
        turn("go on", "The tests are green."),
        turn("go on", "The tests are green.", session="two"),
    ]
    finder = Finder(turns)
    assert finder.find("User: go on\nAssistant: The parser is done.") is turns[0]
    assert finder.find("session two, 2026-02-03T08:14\nUser: go on\nAssistant: The tests are green.") is turns[2]


def test_a_message_of_which_a_part_was_redacted_or_cut_is_still_known() -> None:
    words = "this is what i use for the upload to the bucket every single day without any trouble"
    known = turn(f"{words}: KEY-1234")
    assert Finder([turn("upload"), known]).find(f"User: {words}: [redacted:key]") is known


def test_the_schema_s_fields_are_filled_by_name() -> None:
    string = {"type": "string"}
    fields = {
        "language": string,
        "evidence": {"type": "array", "items": string, "maxItems": 1},
        "summary": string,
        "kind": {"type": "string", "enum": ["fact", "rule"]},
    }
    items = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"memories": {"type": "array", "items": items}, "note": string}}
    assert shaped(ANSWER, schema) == {
        "memories": [
            {"language": "en", "evidence": ["port 5433"], "summary": "Port 5433 is used.", "kind": "fact"},
            {
                "language": "de",
                "evidence": ["in der Küche"],
                "summary": "Der Server steht in der Küche.",
                "kind": "fact",
            },
        ],
        "note": "",
    }
    listed = shaped(ANSWER, {"type": "array", "items": {"properties": {"summary": string}}, "maxItems": 1})
    assert listed == [{"summary": "Port 5433 is used."}]
    assert shaped(ANSWER, {}) == ANSWER


@pytest.mark.parametrize(("asked", "memories", "lost"), [("which port?", 2, 0), ("who?", 0, 1)])
def test_it_speaks_as_an_openai_compatible_server_does(asked: str, memories: int, lost: int) -> None:
    items = {"type": "object", "properties": {"summary": {"type": "string"}}}
    schema = {"type": "object", "properties": {"memories": {"type": "array", "items": items}}}
    body = {
        "messages": [{"role": "system", "content": "…"}, {"role": "user", "content": f"User: {asked}"}],
        "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
    }
    with replaying([turn("which port?")]) as server:
        assert httpx.get(f"{server.url}/v1/models").json()["data"][0]["id"] == MODEL
        reply = httpx.post(f"{server.url}/v1/chat/completions", json=body).json()
        assert httpx.get(f"{server.url}/nothing").status_code == 404
        assert server.lost == lost
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["choices"][0]["message"]["content"].count("summary") == memories
    assert reply["usage"]["total_tokens"] > 0
