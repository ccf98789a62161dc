"""What users of memory systems complain about, tried on the whole chain: from session files to memories in a store.

A model here obeys too well: it remembers whatever anybody says in the transcript, so that all care is the pipeline's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from memory_pipeline.distillation import DistillationEngine, ExtractiveEngine, open_engine
from memory_pipeline.distillation.prompt import INSTRUCTIONS, prompt
from memory_pipeline.documents import RawMessage, Summary, Turn
from memory_pipeline.ingestion.auditing import audit
from memory_pipeline.ingestion.status import store_status
from memory_pipeline.models import open_chat
from memory_pipeline.retrieval import search
from memory_pipeline.settings import load_settings
from memory_pipeline.stores.contract import MemoryStore
from memory_pipeline_tests.ingestion.distilling import Distiller
from memory_pipeline_tests.support.pi_files import START, SessionWriter
from memory_pipeline_tests.support.scripted_server import (
    Answer,
    Request,
    ScriptedServer,
    chat_completion,
    error,
    models,
)

CHAT = "/v1/chat/completions"
DECISION = "We decided on port 9090 for `gateway`, because 8080 is taken by the proxy on every laptop."
_SAID = re.compile(r"^(?!<)(?:(?:User|Assistant): |- |And )?(.{12,})$", re.MULTILINE)


def _remembers_everything(request: Request) -> Answer:
    """Each line of the transcript, as a memory that quotes it."""
    told = [line[:300] for line in _SAID.findall(request.json()["messages"][-1]["content"])]
    memories = [
        {"summary": line, "tags": ["a-tag", "b-tag", "c-tag"], "evidence": [line], "language": "en"} for line in told
    ]
    return chat_completion(json.dumps({"memories": memories, "entities": []}))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.always("/v1/models", models("obedient"))
        running.always(CHAT, _remembers_everything)
        yield running


@pytest.fixture
def model(server: ScriptedServer) -> Iterator[DistillationEngine]:
    settings = load_settings(env_file=None, llama_url=server.url, llama_timeout=5)
    opened = open_engine(settings, partial(open_chat, settings))
    yield opened
    opened.close()


@pytest.fixture(params=["extractive", "llm"])
def engine(request: pytest.FixtureRequest) -> Callable[[], DistillationEngine]:
    """Each of the two engines in turn."""
    if request.param == "extractive":
        return ExtractiveEngine
    opened = request.getfixturevalue("model")
    return lambda: opened


Engine = Callable[[], DistillationEngine]


def turns_asked(server: ScriptedServer) -> int:
    return sum("User: " in request.json()["messages"][-1]["content"] for request in server.requests_for(CHAT))


AGENTS = """\
# AGENTS.md

## Build
- Run `make build` before every commit; the linter must be clean.
- Never edit files below `generated/` by hand.

## Style
- Use 4 spaces and type hints everywhere.
- Name tests after behaviours.
"""


def test_of_a_pasted_instruction_file_and_one_preference_one_memory_is_left(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """PAINS 1: restated boot files were half of the junk."""
    asked = f"{AGENTS}\nAnd always answer me in French from now on, because I am learning it for Lyon."
    session = SessionWriter(tmp_path / "sessions").turn(asked, "From now on I answer in French.")
    distil(session.path, engine())
    told = [memory.summary for memory in store.scan(Summary)]
    assert told
    assert all("French" in text for text in told)


def test_a_compaction_s_summary_is_kept_as_what_it_is_and_never_a_source(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """PAINS 8: summaries of whole sessions match every query and push single memories out."""
    session = SessionWriter(tmp_path / "sessions").turn("Which port does the gateway get?", DECISION)
    session.compaction("The user decided to move `billing` to port 7777, because of the audit. " * 85)
    session.turn("Thanks, go on.", "Fine.")
    distil(session.path, engine())
    told = [memory.summary for memory in store.scan(Summary)]
    assert any("9090" in text for text in told)
    assert not any("7777" in text for text in told)
    assert store.count(RawMessage, {"kind": "compaction"}) == 1


def test_recalled_memories_fed_back_three_times_add_none(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """PAINS 2: recall puts memories into the prompt, and what reads the prompt stores them again, for ever."""
    distil(SessionWriter(tmp_path / "sessions").turn("Which port does the gateway get?", DECISION).path, engine())
    before = store.count(Summary)
    assert before
    for day in range(1, 4):
        recalled = "\n".join(f"- {found.snippet}" for found in search(store, None, "gateway port").found)
        block = f'<memory tier="summaries">\n{recalled}\n</memory>'
        session = SessionWriter(tmp_path / "sessions", started=START + timedelta(days=day))
        session.turn(f"{block}\n\nhi", "Hello!")
        distil(session.path, engine())
    told = [memory.summary for memory in store.scan(Summary)]
    assert sum("9090" in text or "gateway" in text for text in told) == before


def test_the_pipeline_s_own_prompts_in_a_session_are_no_memories(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """PAINS 3: a session in which the observer's own prompt was run through the agent."""
    distil(SessionWriter(tmp_path / "sessions").turn("Which port?", DECISION).path, ExtractiveEngine())
    (turn,) = store.scan(Turn)
    before = store.count(Summary)
    asked = "\n\n".join(message.content for message in prompt(turn, turn.text))
    answer = json.dumps({"memories": [{"summary": DECISION, "tags": ["port"], "evidence": [DECISION]}]})
    own = SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/own").turn(asked, answer)
    done = distil(own.path, engine())
    assert store.count(Summary) == before
    assert (done.states, store_status(store, "extractive").turns_by_state) == ({"own": 1}, {"own": 1, "stored": 1})


def test_a_session_with_the_pipeline_s_own_system_prompt_is_left_out_whole_and_counted(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """PAINS 3: where the instructions are the system prompt, they stand before all turns, and a nudge follows."""
    own = SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/own")
    own.message({"role": "system", "content": INSTRUCTIONS})
    own.turn("<turn>\nUser: Which port?\n</turn>", DECISION).turn("Once more, as JSON only.", DECISION)
    assert distil(own.path, engine()).states == {"own": 2}
    assert store.count(Summary) == 0
    assert distil(own.path, engine()).turns == 0


def test_a_session_in_which_someone_looks_at_the_instructions_later_is_kept(
    distil: Distiller, store: MemoryStore, tmp_path: Path
) -> None:
    work = SessionWriter(tmp_path / "sessions").turn("Which port?", DECISION).turn(INSTRUCTIONS, "Shall I shorten it?")
    assert distil(work.path, ExtractiveEngine()).states == {"stored": 1, "own": 1}


def test_trivial_turns_leave_nothing(distil: Distiller, store: MemoryStore, tmp_path: Path) -> None:
    """PAINS 6: about one memory a turn, "run echo hello" included."""
    session = SessionWriter(tmp_path / "sessions")
    for word in (
        "hi",
        "thanks!",
        "ok",
        "go on",
        "run echo hello",
        "again please",
        "looks good",
        "continue",
        "yes",
        "no",
    ):
        session.turn(word, "Done.").turn(word, "Sure, here you go.")
    done = distil(session.path, ExtractiveEngine())
    assert (done.turns, done.states, store.count(Summary)) == (20, {"none": 20}, 0)


def test_a_german_session_is_remembered_in_german_and_found_by_a_german_query(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """PAINS 15: chats in other languages are stored in English, and then not found."""
    said = "Wir haben uns für Caddy entschieden, weil Caddy die Zertifikate für `wolke.example` selbst erneuert."
    session = SessionWriter(tmp_path / "sessions").turn("Welchen Webserver nehmen wir für die Wolke?", said)
    distil(session.path, engine())
    found = search(store, None, "Welcher Webserver erneuert die Zertifikate?").found
    assert found
    memory = found[0].document
    assert isinstance(memory, Summary)
    assert "Zertifikate" in memory.summary
    assert memory.language == "de"


def test_one_message_more_in_a_session_of_500_asks_about_the_last_turn_only(
    distil: Distiller, store: MemoryStore, tmp_path: Path, server: ScriptedServer, model: DistillationEngine
) -> None:
    """PAINS 26: what has not changed is processed again at full cost."""
    server.always(CHAT, chat_completion('{"memories": [], "entities": []}'))
    session = SessionWriter(tmp_path / "sessions")
    for number in range(250):
        session.turn(f"What about part {number}?", f"Part {number} is fine.")
    distil(session.path, model)
    asked = turns_asked(server)
    session.tool("bash", "ok")
    done = distil(session.path, model)
    assert (done.turns, done.unchanged, turns_asked(server) - asked) == (1, 249, 1)
    assert distil(session.path, model).turns == 0


def test_what_a_run_costs_is_counted(
    distil: Distiller, tmp_path: Path, server: ScriptedServer, model: DistillationEngine
) -> None:
    """PAINS 27: tokens and seconds, by messages; a turn whose answer is known costs nothing."""
    session = SessionWriter(tmp_path / "sessions").turn("Which port?", DECISION)
    done = distil(session.path, model)
    assert (done.messages, done.prompt_tokens, done.completion_tokens) == (2, 11, 7)
    assert done.seconds > 0
    later = START + timedelta(days=1)
    again = SessionWriter(tmp_path / "sessions", started=later).turn("Which port?", DECISION)
    reused = distil(again.path, model)
    assert (reused.reused, reused.messages, reused.prompt_tokens) == (1, 0, 0)


def test_a_server_that_is_busy_is_told_and_its_turns_count_as_failed(
    distil: Distiller, store: MemoryStore, tmp_path: Path, server: ScriptedServer, model: DistillationEngine
) -> None:
    """PAINS 28: 429 swallowed by retries, operations "pending", failures 0."""
    session = SessionWriter(tmp_path / "sessions").turn("Which port?", DECISION)
    session_id = session.session_id
    distil(
        SessionWriter(tmp_path / "sessions", cwd="/home/ann/src/b").turn("Where to?", "To zeta, as ever.").path, model
    )
    server.always(CHAT, error("slow down", 429, headers={"Retry-After": "0"}))
    done = distil(session.path, model)
    assert done.states == {"outage": 1}
    assert "429" in done.problems[0]
    assert session_id in done.problems[0]
    (turn,) = store.get(Turn, [f"{session_id}_0"])
    assert (turn.distillation.state, turn.distillation.attempts) == ("outage", 1)
    assert not audit(store, only=["failures"])["failures"].passed
    server.always(CHAT, _remembers_everything)
    distil(session.path, model)
    assert audit(store, only=["failures"])["failures"].count == 0


def test_an_abandoned_branch_says_nothing(
    distil: Distiller, store: MemoryStore, tmp_path: Path, engine: Engine
) -> None:
    """SESSION_FAULTS 40: rewound answers come back as facts, because the tree is read in file order."""
    session = SessionWriter(tmp_path / "sessions").turn("Set up `gateway`, please.", "The gateway is set up.")
    session.turn("Use port 8080.", "The `gateway` listens on port 8080 from now on, because 8080 is the usual one.")
    session.back_to(2).turn("Which port is best?", DECISION.replace("8080", "another"))
    distil(session.path, engine())
    told = [memory.summary for memory in store.scan(Summary)]
    assert any("9090" in text for text in told)
    assert not any("8080" in text for text in told)
    assert {turn.on_active_path for turn in store.scan(Turn)} == {True, False}
    found = [hit.snippet for hit in search(store, None, "which port does the gateway listen on").found]
    assert found
    assert not any("8080" in text for text in found)
    assert audit(store, only=["off_path"])["off_path"].count == 0
