"""Invented documents of each tier, and vectors whose cosines are known."""

from __future__ import annotations

import math
from typing import Any

from memory_pipeline.documents import DailyLog, Entity, Fact, Meta, RawMessage, SourceRef, Summary, Turn, digest

AT = "2026-05-04T10:11:12.345Z"
MODEL = "test-embedder"


def raw(number: int = 0, **changes: Any) -> RawMessage:
    session_id = changes.get("session_id", "session-1")
    turn_id = changes.get("turn_id", f"{session_id}_0")
    fields: dict[str, Any] = {
        "doc_id": RawMessage.make_id(session_id, turn_id, number),
        "session_id": session_id,
        "turn_id": turn_id,
        "turn_index": 0,
        "message_index": number,
        "role": "user",
        "content": f"message number {number}",
        "session_started_at": AT,
        "message_timestamp": AT,
        "on_active_path": True,
        "kind": "message",
        "cwd": "/home/kim/work/garden",
        "project": "/home/kim/work/garden",
        "origin": "laptop",
        "content_sha256": digest(str(number)),
    }
    return RawMessage(**(fields | changes))


def turn(number: int = 0, **changes: Any) -> Turn:
    session_id = changes.get("session_id", "session-1")
    fields: dict[str, Any] = {
        "doc_id": Turn.make_id(session_id, number),
        "session_id": session_id,
        "turn_id": Turn.make_id(session_id, number),
        "turn_index": number,
        "project": "/home/kim/work/garden",
        "origin": "laptop",
        "source_refs": refs(session_id, number),
        "text": f"user: turn number {number}",
        "started_at": AT,
        "ended_at": AT,
        "message_count": 2,
        "fingerprint": digest(session_id, str(number)),
        "on_active_path": True,
    }
    return Turn(**(fields | changes))


def summary(text: str = "Roses are watered on Mondays.", **changes: Any) -> Summary:
    fields: dict[str, Any] = {
        "doc_id": Summary.make_id("session-1", "session-1_0", text),
        "summary": text,
        "tags": ["garden"],
        "source_refs": refs("session-1", 0),
        "established_at": AT,
        "summarized_at": AT,
        "model": "extractive-1",
        "project": "/home/kim/work/garden",
        "origin": "laptop",
        "trust": "user",
        "prompt_version": "1",
    }
    return Summary(**(fields | changes))


def fact(statement: str, **changes: Any) -> Fact:
    fields: dict[str, Any] = {
        "doc_id": Fact.make_id("/home/kim/work/garden", statement),
        "statement": statement,
        "kind": "decision",
        "source": "session-1, turn 0",
        "confidence": 0.75,
        "project": "/home/kim/work/garden",
        "source_refs": refs("session-1", 0),
        "created_at": AT,
        "valid_from": AT,
    }
    return Fact(**(fields | changes))


def entity(name: str, **changes: Any) -> Entity:
    fields: dict[str, Any] = {
        "doc_id": Entity.make_id("thing", name.lower()),
        "type": "thing",
        "name": name,
        "project": "/home/kim/work/garden",
        "source_refs": refs("session-1", 0),
        "first_seen": AT,
        "last_seen": AT,
        "mentions": 1,
    }
    return Entity(**(fields | changes))


def daily_log(text: str, expires_at: str, **changes: Any) -> DailyLog:
    fields: dict[str, Any] = {
        "doc_id": DailyLog.make_id("session-1_0", text),
        "day": "2026-05-04",
        "project": "/home/kim/work/garden",
        "source_refs": refs("session-1", 0),
        "text": text,
        "message_timestamp": AT,
        "expires_at": expires_at,
    }
    return DailyLog(**(fields | changes))


def meta(name: str, **value: Any) -> Meta:
    return Meta(doc_id=name, value=value)


def refs(session_id: str, *turns: int) -> list[SourceRef]:
    return [SourceRef(session_id=session_id, turn_id=f"{session_id}_{n}", doc_id=f"{session_id}_{n}_0") for n in turns]


def at_angle(degrees: float, dimensions: int = 4) -> list[float]:
    """A unit vector at this angle to ``at_angle(0)``: the cosine of the two is that of the angle."""
    radians = math.radians(degrees)
    return [math.cos(radians), math.sin(radians), *[0.0] * (dimensions - 2)]
