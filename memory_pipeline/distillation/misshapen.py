"""Tells text that is no memory by its shape: refusals, scraps, and what the model was given, given back.

Only shapes that no statement has: a memory about refusals, JSON or prompts is a memory.
"""

from __future__ import annotations

import re

from memory_pipeline.distillation.prompt import INSTRUCTIONS

FEWEST_WORDS = 2
FEWEST_SIGNS = 4
"""Letters of a script that writes no blanks, in which a few are a sentence."""
SHORTEST_ECHO = 20

_KEPT = r"(?:information|memor(?:y|ies)|facts?|details?|content|decisions?|preferences?)"
_TURN = r"(?:turn|conversation|exchange|session|transcript|dialogue|text|message|input)"
_KEEP = r"(?:remember|store|extract|save|keep|record|report|note|memori[sz]e)"
_NOT = r"(?:can ?not|can['’]?t|could ?n['’]?t|could not|was unable to|did ?n['’]?t|did not|do not|do ?n['’]?t)"
_SEE = r"(?:find|identify|extract|see|provide|determine|help|assist|comply|fulfil+|generate|summari[sz]e|answer)"

_IN_TURN = rf"(?: in (?:this|the) {_TURN})?"
_END = r"\W{0,3}\Z"

_REFUSALS = (
    r"(?:i['’]?m|i am) (?:very |so )?(?:sorry|unable|not able|afraid i)\b",
    r"sorry,? (?:but )?i\b",
    r"as an? (?:ai|language model)\b[^.]{0,40}\bi\b",
    rf"(?:unfortunately,? )?i {_NOT} {_SEE}\b",
    rf"(?:there (?:is|are|was|were) )?no (?:\w+,? ){{0,3}}?{_KEPT} (?:\w+ ){{0,2}}?(?:to (?:be )?{_KEEP}|worth)",
    rf"(?:there (?:is|are|was|were) )?no (?:\w+,? ){{0,3}}?{_KEPT}(?: \w+){{0,3}}?{_IN_TURN}{_END}",
    rf"(?:there (?:is|was) )?nothing (?:\w+ )?(?:worth|memorable|notable|relevant|significant|of note|to {_KEEP})\b",
    rf"(?:the|this) {_TURN} d(?:oes|id)(?: not|n['’]t) (?:\w+ )?(?:contain|hold|include|provide|mention) any",
    rf"(?:the|this) {_TURN} (?:contains|holds|has|provides) (?:no|nothing) (?:\w+,? ){{0,3}}?(?:{_KEPT}|worth)",
    r"als (?:eine )?ki\b[^.]{0,40}\bich\b",
    r"(?:es )?tut mir leid\b",
    r"(?:leider )?kann ich (?:dir|ihnen|dabei|leider|das)\b",
    r"(?:es gibt |es wurden? )?(?:keine?|nichts) (?:\w+ ){0,3}?(?:informationen|erinnerungen) (?:\w+ ){0,3}?zu",
    r"(?:es gibt )?(?:keine?|nichts) (?:\w+ ){0,3}?(?:informationen|erinnerungen|(?:merk|erinnerns)wertes?)(?: \w+)?"
    + _END,
    r"(?:es gibt )?(?:keine?|nichts) (?:\w+ ){0,3}?zu(?:m)? merken\b",
    r"(?:je suis )?désolée?\b",
    r"(?:il n['’]y a )?(?:aucune information|rien à (?:retenir|mémoriser|signaler))",
    r"en tant qu['’]ia\b[^.]{0,40}\bje\b",
    r"lo siento\b",
    r"no hay (?:nada que|ninguna? información|información)\b",
    r"como (?:una )?ia\b[^.]{0,40}\bpuedo\b",
    r"mi dispiace\b",
    r"desculpe\b",
    r"抱歉|对不起|申し訳|죄송",
    r"(?:这段|本次|此)?(?:对话|内容)?中?没有(?:任何)?(?:值得|相关信息|需要记)",
    r"特に\S{0,8}(?:ありません|なし)",
)
_REFUSAL = re.compile(r"[\"'“\s]*(?:" + "|".join(_REFUSALS) + ")", re.IGNORECASE)
_PLACEHOLDERS = (
    "none|n/?a|null|nil|empty|unknown|undefined|no memor(?:y|ies)|nothing|summary|string|keine|nichts|rien|nada"
)
_PLACEHOLDER = re.compile(rf"\W*(?:{_PLACEHOLDERS})?\W*", re.IGNORECASE)
_KEYS = "summary|tags|evidence|memories|entities|language"
_SCRAP = re.compile(rf"""\s*(?:[{{\[]\s*["'{{]|[}}\],:])|.{{0,2000}}["'](?:{_KEYS})["']\s*:""", re.DOTALL)
_LABEL = re.compile(r"^(?:User|Assistant|Tool)(?: runs bash| calls \S+| \S+)?: ", re.MULTILINE)
_WRAPPING = re.compile(r"\s*<turn session=|.{0,2000}</turn>\s*\Z", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")


def misshapen(summary: str) -> str | None:
    """What stands in the place of a memory, in words that quote nothing; None for what may be one."""
    if _PLACEHOLDER.fullmatch(summary):
        return "a placeholder"
    if _REFUSAL.match(summary):
        return "a refusal"
    words = _WORD.findall(summary)
    blankless = sum(len(word) for word in words if word[0] >= "\u0e00")
    if _SCRAP.match(summary) or (len(words) < FEWEST_WORDS and blankless < FEWEST_SIGNS):
        return "a scrap"
    if _is_echo(summary):
        return "an echo"
    return None


def _is_echo(summary: str) -> bool:
    plain = _plain(summary)
    return (
        (len(plain) >= SHORTEST_ECHO and plain in _plain(INSTRUCTIONS))
        or len(_LABEL.findall(summary)) > 1
        or _WRAPPING.match(summary) is not None
    )


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
