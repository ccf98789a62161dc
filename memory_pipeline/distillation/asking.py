"""Asks a chat model about one turn, in as many calls as its length takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memory_pipeline.distillation.answer import Answer, read_answer
from memory_pipeline.distillation.budget import Budget, budget_of
from memory_pipeline.distillation.loops import ends_in_a_loop
from memory_pipeline.distillation.prompt import INSTRUCTIONS, prompt, schema
from memory_pipeline.distillation.splitting import FEWEST_TOKENS, Split, split
from memory_pipeline.documents import Turn, TurnState
from memory_pipeline.errors import InputTooLong, ModelAnswerError
from memory_pipeline.models.contract import ChatAnswer, ChatMessage, ChatModel

SHRINK = 0.6
TRIES = 4
"""How often a turn is split anew where the server finds a part too long after all, and into how much smaller ones."""


@dataclass(slots=True)
class Asked:
    """What the calls for one turn came to: an answer for each part, or why there is none for one of them."""

    answers: list[Answer] = field(default_factory=list)
    state: TurnState = "none"
    error: str | None = None
    server_at_fault: bool = False
    parts: int = 1
    cut_chars: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def fail(self, state: TurnState, error: str) -> None:
        self.state, self.error = state, error

    def count(self, answer: ChatAnswer) -> None:
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens


class Asker:
    """Asks one chat model; safe for threads where that is."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def ask(self, turn: Turn, transcript: Sequence[str]) -> Asked:
        """Ask about the messages of a turn's transcript. Raises ModelOutage, ModelRefused, ModelAnswerError."""
        budget = budget_of(self._chat, self._tokens(prompt(turn, "")))
        if budget.room < FEWEST_TOKENS:
            error = (
                f"the model's context of {budget.context} tokens is too short for the instructions; "
                "raise LLAMA_CONTEXT, or start the server with a longer one"
            )
            return Asked(state="refused", error=error, server_at_fault=True)
        asked = Asked()
        for parts in self._splits(transcript, budget.room):
            asked.parts, asked.cut_chars = len(parts.parts), parts.cut_chars
            asked.answers.clear()
            try:
                self._ask_parts(turn, parts, budget, asked)
            except InputTooLong:
                continue
            return asked
        asked.fail("refused", "the turn is too long for the model's context, however much it is split")
        return asked

    def _splits(self, transcript: Sequence[str], room: int) -> Iterator[Split]:
        """The turn in as few parts as there is room for, then in ever smaller ones."""
        count = self._chat.count_tokens
        parts = split(transcript, tokens=room, count=count)
        yield parts
        longest = max(count(part) for part in parts.parts)
        for _ in range(TRIES - 1):
            longest = max(int(longest * SHRINK), FEWEST_TOKENS)
            yield split(transcript, tokens=longest, count=count)

    def _ask_parts(self, turn: Turn, split: Split, budget: Budget, asked: Asked) -> None:
        """The first part that fails ends it: a turn is done whole, or again."""
        of = len(split.parts)
        for part, text in enumerate(split.parts, start=1):
            messages = prompt(turn, text, part=part, parts=of)
            answer = self._complete(turn, messages, budget, asked)
            if answer.finish_reason == "length":
                asked.fail("truncated", f"the model's answer was cut off after {answer.completion_tokens} tokens")
            elif answer.finish_reason == "content_filter":
                asked.fail("refused", "the model refused to answer")
            else:
                try:
                    asked.answers.append(read_answer(answer.content))
                except ModelAnswerError as error:
                    asked.fail("invalid", str(error))
            if asked.error is not None:
                asked.error += f" (part {part} of {of})" if of > 1 else ""
                return

    def _complete(self, turn: Turn, messages: Sequence[ChatMessage], budget: Budget, asked: Asked) -> ChatAnswer:
        """The model's answer; one that is cut off is asked for once more, with more room.

        At once with more where a run before this one had it cut off: it would be again, in the same place. One that
        went round in circles would do so again as well, and is kept from it.
        """
        retried = turn.distillation.state == "truncated"
        most = budget.retry(self._tokens(messages)) if retried else budget.answer
        shape = schema(budget.answer)
        answer = self._chat.complete(messages, schema=shape, max_tokens=most, no_loops=retried)
        asked.count(answer)
        if answer.finish_reason == "length" and not retried:
            most = budget.retry(answer.prompt_tokens or self._tokens(messages))
            loops = ends_in_a_loop(answer.content)
            answer = self._chat.complete(messages, schema=shape, max_tokens=most, no_loops=loops)
            asked.count(answer)
        return answer

    def _tokens(self, messages: Sequence[ChatMessage]) -> int:
        return self._fixed_tokens + sum(self._chat.count_tokens(message.content) for message in messages[1:])

    @cached_property
    def _fixed_tokens(self) -> int:
        return self._chat.count_tokens(INSTRUCTIONS)
