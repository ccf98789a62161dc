"""The engine that asks a chat model: one call per turn, or per part of a long one; memories and mentions come back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from memory_pipeline.distillation.asking import Asker
from memory_pipeline.distillation.contract import Outcome
from memory_pipeline.distillation.keeping import keep
from memory_pipeline.distillation.naming import mentions
from memory_pipeline.distillation.prompt import PROMPT_VERSION
from memory_pipeline.distillation.said import heard, said
from memory_pipeline.distillation.splitting import messages_of
from memory_pipeline.documents import RawMessage, Turn
from memory_pipeline.errors import KeyRefused, ModelAnswerError, ModelRefused
from memory_pipeline.models.contract import ChatModel
from memory_pipeline.sessions.recalled import without_recalled
from memory_pipeline.settings import RECALLED_BLOCKS


class LlmEngine:
    """Opens the chat model when it is first needed, and closes it.

    ``parallel``: how many turns the server works on at a time; sessions are safe for as many threads.
    """

    name = "llm"
    prompt_version = PROMPT_VERSION
    keeps_state = False

    def __init__(
        self, chat: Callable[[], ChatModel], *, parallel: int = 1, recalled_blocks: Collection[str] = RECALLED_BLOCKS
    ) -> None:
        self.parallel = parallel
        self._open = chat
        self._recalled_blocks = recalled_blocks
        self._chat: ChatModel | None = None
        self._opening = threading.Lock()

    @property
    def model(self) -> str:
        """The model's name as the server gives it. Raises ModelOutage, ModelRefused."""
        return self._opened().model

    def session(self) -> LlmSession:
        return LlmSession(self._opened, self._recalled_blocks)

    def close(self) -> None:
        if self._chat is not None:
            self._chat.close()
            self._chat = None

    def _opened(self) -> ChatModel:
        with self._opening:
            if self._chat is None:
                self._chat = self._open()
            return self._chat


class LlmSession:
    """Each turn is judged alone."""

    def __init__(self, chat: Callable[[], ChatModel], recalled_blocks: Collection[str]) -> None:
        self._opened = chat
        self._recalled_blocks = recalled_blocks

    def distill(self, turn: Turn, messages: Sequence[RawMessage]) -> Outcome:
        """Raises ModelOutage only. No call for abandoned turns, which are no memory, nor where nobody said a word."""
        spoken = said(messages, self._recalled_blocks)
        if not turn.on_active_path or not spoken:
            return Outcome(state="none")
        transcript = [without_recalled(text, self._recalled_blocks) for text in messages_of(turn.text)]
        try:
            asked = self._asker.ask(turn, transcript)
        except KeyRefused:
            error = "the model server refused the key; check LLAMA_API_KEY"
            return Outcome("refused", error=error, server_at_fault=True)
        except ModelRefused:
            return Outcome("refused", error="the model server refused this turn's prompt", server_at_fault=True)
        except ModelAnswerError:
            return Outcome("invalid", error="the model server's reply was no chat completion", server_at_fault=True)
        answers = asked.answers if asked.error is None else []
        printed = heard(messages, self._recalled_blocks)
        proposals = [proposal for answer in answers for proposal in answer.proposals]
        judged = keep(proposals, spoken, heard=printed, known=_project_names(turn))
        return Outcome(
            asked.state if asked.error is not None else "stored" if judged.drafts else "none",
            drafts=judged.drafts,
            mentions=mentions((one for answer in answers for one in answer.named), spoken, heard=printed),
            dropped=(*(reason for answer in answers for reason in answer.dropped), *judged.dropped),
            error=asked.error,
            server_at_fault=asked.server_at_fault,
            parts=asked.parts,
            cut_chars=asked.cut_chars,
            prompt_tokens=asked.prompt_tokens,
            completion_tokens=asked.completion_tokens,
        )

    def observe(self, turn: Turn, messages: Sequence[RawMessage]) -> None:
        """Nothing to remember."""

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self._opened())


def _project_names(turn: Turn) -> tuple[str, ...]:
    """What the turn's project is called: the name of its folder."""
    name = turn.project.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return (name,) if name else ()
