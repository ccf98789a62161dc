"""Memories and turns for search tests, and an embedder whose vectors are made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from memory_pipeline.documents import DistillationState, SourceRef, Summary, Turn, TurnState

SESSION = "2026-05-04T10-11-12-345Z_0196aa00"
WHEN = "2026-05-04T10:11:12.345Z"


def summary(text: str, *, turn_index: int = 0, session: str = SESSION, project: str = "/home/ada/harbour") -> Summary:
    turn_id = Turn.make_id(session, turn_index)
    return Summary(
        doc_id=Summary.make_id(session, turn_id, text),
        summary=text,
        tags=[],
        source_refs=[SourceRef(session_id=session, turn_id=turn_id, doc_id=f"{session}_{turn_id}_0")],
        established_at=WHEN,
        summarized_at=WHEN,
        model="m",
        project=project,
        origin="laptop",
        trust="user",
        prompt_version="v",
    )


def turn(
    text: str, *, turn_index: int = 0, state: TurnState = "pending", session: str = SESSION, copy_of: str | None = None
) -> Turn:
    turn_id = Turn.make_id(session, turn_index)
    return Turn(
        doc_id=turn_id,
        session_id=session,
        turn_id=turn_id,
        turn_index=turn_index,
        project="/home/ada/harbour",
        origin="laptop",
        source_refs=[SourceRef(session_id=session, turn_id=turn_id)],
        text=text,
        started_at=WHEN,
        ended_at=WHEN,
        message_count=1,
        fingerprint="f",
        on_active_path=True,
        copy_of=copy_of,
        distillation=DistillationState(state=state),
    )


class TopicEmbedder:
    """One dimension per topic and one for all else; a text points where its topics' words are."""

    topics = (("boat", "vessel", "ship"), ("pump", "drain"), ("crane", "hoist", "lift"))

    def __init__(self, model: str = "topics", *, failure: Exception | None = None, spare: int = 1) -> None:
        self.model = model
        self.dimensions = len(self.topics) + spare
        self._failure = failure

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._failure:
            raise self._failure
        return [self._vector(text.lower()) for text in texts]

    def close(self) -> None:
        """Holds nothing."""

    def _vector(self, text: str) -> list[float]:
        raw = [float(sum(text.count(word) for word in topic)) for topic in self.topics]
        raw += [0.1] * (self.dimensions - len(raw))
        length = sqrt(sum(x * x for x in raw))
        return [x / length for x in raw]
