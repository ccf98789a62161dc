"""Words that tell lasting statements from talk, English and German. Other languages do without (see ``scoring``)."""

from __future__ import annotations

import re


def _phrases(listed: str) -> str:
    return "|".join(re.split(r",\s+", listed.strip().rstrip(",")))


def _anywhere(listed: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_phrases(listed)})\b", re.IGNORECASE)


def _opening(listed: str) -> re.Pattern[str]:
    politely = r"(?:(?:ok|okay|so|and|good|great|perfect|excellent|alright|gut|also)[,.!:]?\s)?"
    return re.compile(rf"\W{{0,3}}{politely}(?:{_phrases(listed)})\b", re.IGNORECASE)


CUES = _anywhere("""
    always, never, must, only, because, instead, root cause, cause, reason, decided, decision, from now on, no longer,
    until, default, so that, otherwise, stays?, keep, agreed, noted, everywhere, prefer, rule, requires?, on purpose,
    out of scope,
    immer, nie, niemals, muss, darf, nur, weil, deshalb, damit, stattdessen, ursache, grund, entschieden, ab jetzt,
    künftig, bis, sonst, gemerkt, fest, steht jetzt, nicht mehr,
""")
"""Lasting statements: rules, reasons, decisions."""

RULES = _anywhere("""
    always, never, must, mustn't, only, don'?t, do not, no, not, stop, prefer, everywhere, every, from now on,
    in future, instead, rules?, record, we, keep, stay, until, remember, drop, replace, should, needs?,
    immer, nie, niemals, muss, müssen, nur, kein, keine, nicht, bitte, ab jetzt, künftig, merk, stattdessen, bis, wir,
""")
"""What turns a request into a rule."""

TALK = _opening("""
    let me, let's, let us, now (?:let|i|update|fix|add|check|run|remove|create|find|hook|you can), i'll, i will,
    i need to, i'm going to, shall i, should i, would you like, do you want, want me, first,? i, then i, next,? i,
    next would, looking, checking, reading, searching, running, here(?:'s| is| are), anything else, happy to,
    feel free, you can,
    ich schaue, ich sehe, ich prüfe, ich werde, soll ich, möchtest du, lass mich, mal sehen, als nächstes,
""")
"""What an assistant says about its own next step."""

ROUTINE = _anywhere(r"""
    all (?:\w{1,20} )?(?:tests|checks) (?:now )?pass(?:ed|ing)?, (?:tests|checks) pass(?:ed)?, \d+ (?:tests )?passed,
    committed, pushed, merged, green, clean, no (?:other|errors), without (?:errors|warnings),
    (?:build|builds|compiles|compiled) (?:successfully|completes|passes|cleanly), working tree, insertions, tidied,
    typo, formatted, re-read, let me know, looks right, easy to review, untouched,
    tests laufen, durchgelaufen, gepusht, committet, alles grün,
""")
"""What is true after every piece of work."""
