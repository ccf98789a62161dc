from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.distillation import Draft, ExtractiveEngine, LlmEngine, open_engine, to_summary, turn_fingerprint
from memory_pipeline.documents import Summary
from memory_pipeline.models.contract import ChatModel
from memory_pipeline.settings import load_settings
from memory_pipeline_tests.distillation.samples import STARTED, dialogue, turn_of

NOW = "2026-06-01T00:00:00.000Z"


def never() -> ChatModel:
    raise AssertionError("no chat model is needed here")


def test_a_draft_becomes_a_document_with_the_turns_time_and_place() -> None:
    messages = dialogue(("user", "only pnpm"), ("assistant", "Noted."))
    turn = turn_of(messages)
    draft = Draft("Only pnpm.", ("pnpm",), cites=(messages[0].doc_id,), trust="user", evidence=("only pnpm",))
    summary = to_summary(draft, turn, model="m", prompt_version="v", summarized_at=NOW)
    assert summary.doc_id == Summary.make_id(turn.session_id, turn.turn_id, "Only pnpm.")
    assert [ref.doc_id for ref in summary.source_refs] == [messages[0].doc_id]
    assert {(ref.session_id, ref.turn_id) for ref in summary.source_refs} == {(turn.session_id, turn.turn_id)}
    assert (summary.established_at, summary.summarized_at) == (STARTED, NOW)
    assert (summary.project, summary.origin, summary.trust) == (turn.project, turn.origin, "user")
    assert (summary.tags, summary.evidence) == (["pnpm"], ["only pnpm"])


def test_a_fingerprint_changes_with_the_text_the_path_and_the_engine_only() -> None:
    turn = turn_of(dialogue(("user", "only pnpm")))
    engine, other = ExtractiveEngine(), ExtractiveEngine()
    other.prompt_version = "extractive-0"
    known = turn_fingerprint(turn, engine)
    assert known == turn_fingerprint(turn.model_copy(update={"session_id": "a copy"}), engine)
    assert known != turn_fingerprint(turn.model_copy(update={"text": "only npm"}), engine)
    assert known != turn_fingerprint(turn.model_copy(update={"on_active_path": False}), engine)
    assert known != turn_fingerprint(turn, other)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, ExtractiveEngine),
        ({"llama_url": "http://127.0.0.1:1"}, LlmEngine),
        ({"llama_url": "http://127.0.0.1:1", "distiller": "extractive"}, ExtractiveEngine),
        ({"distiller": "llm", "chat_gguf": Path("model.gguf")}, LlmEngine),
    ],
)
def test_the_settings_choose_the_engine_and_no_model_is_opened_for_it(
    settings: dict[str, str], kind: type[ExtractiveEngine] | type[LlmEngine]
) -> None:
    engine = open_engine(load_settings(env_file=None, **settings), never)
    assert isinstance(engine, kind)
    engine.close()
