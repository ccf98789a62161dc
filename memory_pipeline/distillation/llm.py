"""The engine that asks a chat model: one call per turn, zero or more memories back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

from memory_pipeline.distillation.answer import Memory, read_answer
from memory_pipeline.distillation.citing import cite
from memory_pipeline.distillation.contract import Draft, Outcome
from memory_pipeline.distillation.prompt import PROMPT_VERSION, SCHEMA, prompt
from memory_pipeline.distillation.said import Said, said
from memory_pipeline.distillation.shortening import Shortened, keep_ends, shorten
from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.errors import InputTooLong, ModelAnswerError, ModelRefused
from memory_pipeline.models.contract import ChatAnswer, ChatModel

ANSWER_TOKENS = 1_024
SPARE_TOKENS = 64
"""What chat templates put around messages, generously."""
TRIES = 4
"""How often a turn is shortened further where the server finds it too long after all."""


class LlmEngine:
    """Opens the chat model when it is first needed, and closes it."""

    name = "llm"
    prompt_version = PROMPT_VERSION
    keeps_state = False

    def __init__(self, chat: Callable[[], ChatModel]) -> None:
        self._open = chat
        self._chat: ChatModel | None = None

    @property
    def model(self) -> str:
        """The model's name as the server gives it. Raises ModelOutage, ModelRefused."""
        return self._opened().model

    def session(self) -> LlmSession:
        return LlmSession(self._opened)

    def close(self) -> None:
        if self._chat is not None:
            self._chat.close()
            self._chat = None

    def _opened(self) -> ChatModel:
        if self._chat is None:
            self._chat = self._open()
        return self._chat


class LlmSession:
    """Each turn is judged alone."""

    def __init__(self, chat: Callable[[], ChatModel]) -> None:
        self._opened = chat

    def distill(self, turn: Turn, messages: Sequence[RawMessage]) -> Outcome:
        """Raises ModelOutage only. No call for abandoned turns, which are no memory, nor where nobody said a word."""
        spoken = said(messages)
        if not turn.on_active_path or not spoken:
            return Outcome(state="none")
        try:
            return self._ask(turn, spoken)
        except ModelRefused:
            return Outcome("refused", error="the model server refused this turn's prompt", server_at_fault=True)
        except ModelAnswerError:
            return Outcome("invalid", error="the model server's reply was no chat completion", server_at_fault=True)

    def observe(self, turn: Turn, messages: Sequence[RawMessage]) -> None:
        """Nothing to remember."""

    def _ask(self, turn: Turn, spoken: Sequence[Said]) -> Outcome:
        chat = self._chat
        # A turn whose answer was cut off before is given more room, or it would be cut off in the same place again.
        answer_tokens = ANSWER_TOKENS * (2 if turn.distillation.state == "truncated" else 1)
        answer_tokens = min(answer_tokens, chat.context_tokens // 3)
        room = chat.context_tokens - answer_tokens - self._instruction_tokens
        if room <= 0:
            error = (
                f"the model's context of {chat.context_tokens} tokens is too short for the instructions; "
                "raise LLAMA_CONTEXT, or start the server with a longer one"
            )
            return Outcome("refused", error=error, server_at_fault=True)
        short = shorten(turn.text, tokens=room, count=chat.count_tokens)
        for _ in range(TRIES):
            try:
                answer = chat.complete(prompt(short.text), schema=SCHEMA, max_tokens=answer_tokens)
            except InputTooLong:
                short = keep_ends(turn.text, (len(turn.text) - short.cut_chars) // 2)
            else:
                return _outcome(answer, spoken, short)
        error = "the turn is too long for the model's context, however much is left out"
        return Outcome(state="refused", error=error, cut_chars=short.cut_chars)

    @cached_property
    def _chat(self) -> ChatModel:
        return self._opened()

    @cached_property
    def _instruction_tokens(self) -> int:
        return SPARE_TOKENS + sum(self._chat.count_tokens(message.content) for message in prompt(""))


def _outcome(answer: ChatAnswer, spoken: Sequence[Said], short: Shortened) -> Outcome:
    outcome = partial(
        Outcome,
        cut_chars=short.cut_chars,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
    )
    if answer.finish_reason == "length":
        return outcome("truncated", error=f"the model's answer was cut off after {answer.completion_tokens} tokens")
    try:
        memories = read_answer(answer.content)
    except ModelAnswerError as error:
        return outcome("invalid", error=str(error))
    drafts = {memory.summary: _draft(memory, spoken) for memory in memories}
    return outcome("stored", drafts=tuple(drafts.values())) if drafts else outcome("none")


def _draft(memory: Memory, spoken: Sequence[Said]) -> Draft:
    citation = cite(memory.summary, spoken)
    return Draft(memory.summary, memory.tags, cites=citation.doc_ids, trust=citation.trust)
