"""What a user's message holds that the user did not write: attached files, skills, pages, instruction files."""

from __future__ import annotations

import re

from memory_pipeline.sessions.recalled import without_blocks

BLOCKS = (
    "file",
    "files",
    "skill",
    "skills",
    "document",
    "documents",
    "attachment",
    "attachments",
    "webpage",
    "web-page",
    "system",
    "system-prompt",
    "system-reminder",
    "user-instructions",
    "environment-context",
    "project-instructions",
)
"""Blocks that agents and people wrap such text in; pi writes ``<file name=…>`` for ``@path`` and ``<skill name=…>``."""

FEWEST_HEADINGS = 2
SHORTEST_NAMED = 150
SHORTEST_UNNAMED = 1_200
"""Characters from which a text with headings was pasted rather than typed: one with the name of such a file, and one
without, but with the headings of one, or that tells an agent who it is."""
LONGEST_REMARK = 600
"""Characters of what a user typed before or after the document."""

_COMMENT, _COMMENT_END = "<!--", "-->"
_LONGEST_COMMENT = 5_000
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|\s{0,3}(?:={3,}|-{3,})\s*$")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_ITEM = re.compile(r"\s{0,40}(?:[-*+•]|\d{1,3}[.)])\s")
_PROMPT = re.compile(
    r"\s{0,40}(?:You are (?:an?|the|\w{1,20},)|Du bist (?:ein|eine|der|die)|Tu es (?:un|une)|Eres (?:un|una)|Sei un)\b"
)
_TITLE = re.compile(
    r"guideline|convention|code style|coding style|overview|instruction|commands|architecture|persona"
    r"|identity|boundaries|richtlinien|konventionen|anweisungen|regeln",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"(?:AGENTS?|CLAUDE|GEMINI|SOUL|IDENTITY|PERSONALITY|USER|MEMORY|SKILL|SYSTEM|CONVENTIONS)\.md\b"
    r"|\.cursorrules\b|copilot-instructions\.md\b"
)


def without_pasted(text: str) -> str:
    """The user's own words: without such blocks, hidden comments, and instruction files pasted as they are."""
    text = without_blocks(text, BLOCKS)
    text = _without_comments(text)
    return text if len(text) < SHORTEST_NAMED else _without_document(text)


def _without_comments(text: str) -> str:
    """No pattern: one that is tried at each of thousands of openings takes seconds."""
    kept: list[str] = []
    after = 0
    start = text.find(_COMMENT)
    while start >= 0:
        inside = start + len(_COMMENT)
        end = text.find(_COMMENT_END, inside, inside + _LONGEST_COMMENT + len(_COMMENT_END))
        if end >= 0 or len(text) - inside <= _LONGEST_COMMENT:  # one without an end goes on to that of the text
            kept.append(text[after:start])
            after = end + len(_COMMENT_END) if end >= 0 else len(text)
        start = text.find(_COMMENT, max(after, inside))
    return "".join(kept) + text[after:]


def _without_document(text: str) -> str:
    """The text without the one document that it may hold, from its first heading on, or all of it from "You are"."""
    paragraphs = _paragraphs(text)
    first = next((at for at, one in enumerate(paragraphs) if _HEADING.match(one) or _PROMPT.match(one)), None)
    if first is None:
        return text
    document, remark = paragraphs[first:], ""
    if len(document) > 1 and _is_remark(document[-1], document[:-1]):
        remark = document.pop()
    return "\n\n".join([*paragraphs[:first], remark]) if _is_instructions("\n\n".join(document), text) else text


def _paragraphs(text: str) -> list[str]:
    """Stretches between blank lines; a code fence is never divided."""
    found: list[list[str]] = [[]]
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        if line.strip() or fenced:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def _is_remark(last: str, document: list[str]) -> bool:
    """Whether the last paragraph is the user's again: prose, where the document ends in lists, headings or code."""
    prose = not (_HEADING.match(last) or _ITEM.match(last) or _FENCE.match(last) or last.startswith("<"))
    before = document[-1].splitlines()[-1]
    return prose and len(last) <= LONGEST_REMARK and bool(_ITEM.match(before) or _FENCE.match(before))


def _is_instructions(document: str, text: str) -> bool:
    if _PROMPT.match(document):
        return len(document) >= SHORTEST_UNNAMED
    headings = [line for line in document.splitlines() if _HEADING.match(line)]
    if len(headings) < FEWEST_HEADINGS:
        return False
    if _FILE_NAME.search(text):
        return len(document) >= SHORTEST_NAMED
    return len(document) >= SHORTEST_UNNAMED and any(map(_TITLE.search, headings))
