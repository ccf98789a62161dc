"""Text that tells an agent what to do. Only users give orders; those in pages, files and tool output become no memory.

The words are listed per language; what protects languages that are not listed is where a quote stands (``grounding``).
Every pattern is bounded, so hostile text costs time in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memory_pipeline.distillation.claims import words
from memory_pipeline.distillation.folding import fold
from memory_pipeline.distillation.marks import long_words

ECHO = 0.5
"""Share of an order's long words, or of the summary's, that the two must share for the one to repeat the other."""
_LONGEST = 600
"""Characters looked at to either side of an order's words for where it begins and ends."""


_Pattern = tuple[tuple[str, ...], re.Pattern[str]]
"""Strings of which one must occur (found fast), and what is looked for then; both in folded text."""


def _of(anchors: str, *patterns: str) -> _Pattern:
    return tuple(anchors.split()), re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_AGENT = (
    r"(?:ais?|kis?|ias?|llms?|\w{0,3}assist\w{1,4}|asistente|asystent\w{0,2}|agent\w{0,3}|language models?"
    r"|sprachmodell\w{0,2}|(?:chat)?bots?)"
)
_HIJACKS: tuple[_Pattern, ...] = (
    # earlier instructions are to be forgotten
    _of(
        "ignor disregard forget overrid vergiss vergesst missacht oubli olvid dimentic esqueç desconsider negeer"
        " vergeet zapomnij",
        r"\b(?:ignor\w{0,6}|disregard|forget|override|vergiss|vergesst|missacht\w{1,3}|oublie[zr]?|olvid\w{1,4}"
        r"|dimentic\w{1,4}|esqueça|desconsidere|negeer|vergeet|zignoruj|zapomnij)\b.{0,50}\b"
        r"(?:instru[ckç]|prompt|guideline|direction|anweisung|vorgabe|consigne|indicacion|istruzion|aanwijzing|polece)",
    ),
    _of("игнорируй забудь", r"(?:игнорируй|забудь)\w{0,3}\b.{0,40}(?:инструкци|указани|правил)"),
    _of("talimat", r"\btalimat\w{0,12}\b.{0,30}\b(?:yok say|unut|görmezden)"),
    _of("無視 忘れ", r"(?:指示|命令|ルール).{0,10}(?:無視|忘れ)"),
    _of("忽略 无视 忘记", r"(?:忽略|无视|忘记).{0,12}(?:指令|指示|说明|规则)"),
    # words to agents
    _of(
        "note notice message attention important reminder hinweis nachricht achtung wichtig nota mensaje mensagem aviso"
        " messaggio avviso opmerking bericht uwaga wiadomość",
        r"\b(?:notes?|notice|message|attention|important|reminder|hinweis|nachricht|achtung|wichtig|nota|mensaje|mensagem"
        r"|aviso|messaggio|avviso|opmerking|bericht|uwaga|wiadomość)\b.{0,12}"
        rf"\b(?:to|for|an|für|aux?|pour|para|per|voor|aan|dla)\b.{{0,12}}\b{_AGENT}\b",
    ),
    _of(
        "must should shall have need muss müssen soll doit devra debe deve moet",
        rf"\b(?:ai|llm|coding|language|ki|the|der|die|el|o|de)[ -](?:{_AGENT}|models?|modell\w{{0,2}})\b.{{0,16}}"
        r"\b(?:must|should|shall|ha(?:ve|s) to|needs? to|muss|müssen|soll|sollen|debe|deberá|deve|deverá|moet)\b",
        r"\bl'(?:assistant|agent|ia|assistente|agente) (?:doit|devra|deve|dovrà)\b",
    ),
    _of(
        "if falls wenn si se",
        rf"\b(?:if you(?:'re| are)|falls du|wenn du|si (?:tu es|eres)|se sei) (?:\w{{1,5}} ){{0,2}}{_AGENT}\b",
    ),
    _of("ассистент агент помощник", r"(?:ассистент|агент|помощник)\w{0,3}\b.{0,12}\b(?:должен|должны|обязан)"),
    _of(
        "アシスタント エージェント ai",
        r"(?:ai|アシスタント|エージェント)(?:への|は|に).{0,40}(?:ください|なければ|すること)",
    ),
    _of("必须 应当 应该 请 注意", r"(?:ai|人工智能|助手|代理).{0,8}(?:必须|应当|应该|请|注意)"),
    _of(
        "system",
        r"\bsystem\s?(?:prompt|message|note|override)?\s?:\s.{0,20}\b(?:you|ignore|always|never|remember|the)\b",
    ),
    _of("<sys </sys <ins </ins [/ [inst [sys <|im", r"</?(?:system|instructions?)>|\[/?(?:inst|system)\]|<\|im_"),
    # secrecy, and consent that nobody gave
    _of(
        "mention tell reveal inform ask notify",
        r"\b(?:do not|don't|never|without)\b.{0,12}\b(?:mention|tell|reveal|inform|ask|notify|telling|asking)\w{0,3}\b"
        r".{0,16}\b(?:it|this|user|anyone|the)\b",
    ),
    _of(
        "user", r"\buser (?:has|have) (?:already |permanently )?(?:approved|authori[sz]ed|agreed|consented|confirmed)\b"
    ),
    # what runs what a stranger sends, and what sends things to strangers
    _of(
        "|",
        r"\b(?:curl|wget|iwr|irm|fetch)\b[^\n|]{0,120}\|\s{0,4}(?:sudo\s{1,4})?"
        r"(?:(?:ba|z|da|k|fi)?sh|iex|python3?|node|perl)\b",
        r"\bbase64\b[^\n|]{0,80}\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z)?sh\b",
    ),
    _of(
        "http:// https:// ftp://",
        r"\b(?:upload|send|post|forward|exfiltrate|copy|push|lade|sende|schicke|envoie[zr]?|envía|invia|envie)\w{0,3}\b"
        r".{0,80}\b(?:https?|ftp)://",
    ),
)
"""What no page, file or tool has any business to say, and no memory either unless the user said it."""

_OPENING = re.compile(
    r"\W{0,3}(?:(?:please|bitte)\s)?(?:always|never|remember|make sure|be sure|do not|don't|from now on|you must"
    r"|run|execute|ignore"
    r"|immer|nie|niemals|merke?|ab jetzt|ab sofort|führe?|toujours|ne jamais|siempre|nunca|recuerda|sempre|mai|ricorda"
    r"|altijd|nooit|zawsze|nigdy|всегда|никогда|запомни)\b",
    re.IGNORECASE,
)
_EDGE = re.compile(r"[.!?…]\s|[。！？\n]")


def is_hijack(text: str) -> bool:
    """Whether the text tries to take an agent over, or hands it something that only an attacker would."""
    return next(_hijacks(fold(text)), None) is not None


def opens_as_order(text: str) -> bool:
    """Whether the text begins as a command does."""
    return bool(_OPENING.match(text))


class Orders:
    """The orders in texts that nobody in the conversation wrote."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = dict.fromkeys(text[start:end].strip() for text in texts for start, end in orders_in(text))
        self._orders = [(long_words(order), _names(order)) for order in found]

    def is_repeated_in(self, summary: str, own: str) -> bool:
        """Whether the summary says one of them again, or names what only an order names, and not in ``own`` words."""
        said = fold(own)
        mine, names = long_words(summary), {name for name in _names(summary) if name not in said}
        unsaid = mine - long_words(own)
        for order, order_names in self._orders:
            shared = unsaid & order
            if len(shared) >= ECHO * min(len(order), len(mine) or 1) > 0 or names & order_names:
                return True
        return False


def orders_in(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences with a hijack in them begin and end, in order."""
    folded = fold(text)
    end = 0
    for start, stop in sorted(_hijacks(folded)):
        if start >= end:
            edges = [edge.end() for edge in _EDGE.finditer(folded, max(end, start - _LONGEST), start)]
            after = _EDGE.search(folded, stop, stop + _LONGEST)
            end = after.end() if after else min(len(folded), stop + _LONGEST)
            yield edges[-1] if edges else max(0, start - _LONGEST), end


def _hijacks(folded: str) -> Iterator[tuple[int, int]]:
    for anchors, pattern in _HIJACKS:
        if any(anchor in folded for anchor in anchors):
            yield from (match.span() for match in pattern.finditer(folded))


def _names(text: str) -> set[str]:
    """Addresses, paths and commands: what an order would have an agent use."""
    return {word.norm for word in words(text) if word.kind == "path" or any(c in word.norm for c in "._/=@")}
