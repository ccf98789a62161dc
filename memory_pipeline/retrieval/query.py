"""A query's words as terms for keyword search."""

from __future__ import annotations

import re
from unicodedata import normalize

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CONTRACTION = re.compile(r"['’].*")

_DROPPED = frozenset(
    re.findall(
        r"\w+",
        """
        a an the this that these those there here it its i me my we us our you your he him his she her they them their
        am is are was were be been being do does did done doing have has had having will would can could shall should
        may might must what which who whom whose when where why how and or but if then else so than as of at by for
        with about into onto to from in on off up out over under again not no nor too very just any some all both each
        only own same don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn let tell show give
        please

        der die das den dem des ein eine einen einem einer eines dieser diese dieses ich mich mir du dich dir er ihn
        ihm sie ihr ihnen es wir uns euch mein meine dein deine sein seine unser unsere ist sind war waren bin bist
        wird werden wurde wurden hat haben hatte hatten habe kann können konnte soll sollen muss müssen darf dürfen
        will wollen was wer wen wem wessen wann wo wie warum wieso weshalb welche welcher welches welchen und oder
        aber wenn dann als ob dass von vom bei beim mit nach aus zu zum zur im in an am auf für über unter um durch
        gegen ohne nicht kein keine noch schon auch nur so sehr mal bitte denn da hier dort man sich
        """,
    )
)
"""English and German stop and question words: they would match everything and say nothing."""


def query_terms(query: str) -> list[str]:
    """The words to search for: lower case, each once, in order, without stop words unless there is nothing else.

    What follows an apostrophe is cut off: a lone "s" of a possessive would be the rarest and so the weightiest term.
    """
    words = [_CONTRACTION.sub("", word.lower()) for word in _WORD.findall(normalize("NFC", query))]
    telling = [word for word in words if word not in _DROPPED]
    return list(dict.fromkeys(telling or words))
