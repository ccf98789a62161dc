"""How a model's context is shared out between instructions, turn and answer. All in tokens."""

from __future__ import annotations

from dataclasses import dataclass

from memory_pipeline.models.contract import ChatModel

ANSWER = 1_024
THINKING_TIMES = 3
"""An answer that begins with thoughts is that much longer."""
RETRY_TIMES = 2
"""An answer that was cut off is given so much more room, which is left free beside every prompt."""
ANSWER_SHARE = 1 / 4
RESERVED_SHARE = 1 / 3
"""Of a context that is short."""
SPARE = 64
"""What chat templates put around messages, generously."""


@dataclass(frozen=True, slots=True)
class Budget:
    """``answer``: the most that an answer may take; ``room``: what is left for the turn, 0 or less where nothing is."""

    context: int
    answer: int
    room: int

    def retry(self, prompt_tokens: int) -> int:
        """The most that an answer may take that ``answer`` was too little for."""
        free = self.context - prompt_tokens - SPARE
        return min(self.answer * RETRY_TIMES, max(free, self.answer))


def budget_of(chat: ChatModel, instruction_tokens: int) -> Budget:
    """Raises what ``chat.abilities`` does."""
    wanted = ANSWER * (THINKING_TIMES if chat.abilities.thinking == "on" else 1)
    context = chat.context_tokens
    answer = min(wanted, int(context * ANSWER_SHARE))
    reserved = min(wanted * RETRY_TIMES, int(context * RESERVED_SHARE))
    return Budget(context, answer, context - reserved - instruction_tokens - SPARE)
