"""Words that tell lasting statements from talk, in the languages of most session logs. Others do without (see
``scoring``): names, long words and places tell most of it.

An entry belongs here if it says the same of any project's work; names and habits of one project don't.
"""

from __future__ import annotations

import re

LISTED_LANGUAGES = frozenset({"en", "de", "fr", "es", "it", "pt", "nl", "ru", "ja", "zh", "ko"})
_SPACELESS = r"[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff]"


def _phrases(*listed: str) -> str:
    """Alternatives of comma-separated lists. Scripts without spaces know no word boundary."""
    phrases = [phrase for one in listed for phrase in re.split(r",\s+", one.strip().rstrip(","))]
    spaceless = [phrase for phrase in phrases if re.search(_SPACELESS, phrase)]
    return rf"(?:\b(?:{'|'.join(p for p in phrases if p not in spaceless)})\b|{'|'.join(spaceless)})"


def _anywhere(*listed: str) -> re.Pattern[str]:
    return re.compile(_phrases(*listed), re.IGNORECASE)


def _opening(*listed: str) -> re.Pattern[str]:
    softened = "ok|okay|yes|yeah|so|and|hm+|good|great|perfect|excellent|alright|gut|also|ja|bon|bien|bueno"
    return re.compile(rf"\W{{0,3}}(?:(?:{softened})[,.!:]?\s)?{_phrases(*listed)}", re.IGNORECASE)


CUES = _anywhere(
    """
    always, never, must, only, because, since, instead, root cause, cause, reason, due to, decided, decision,
    from now on, no longer, any ?more, until, unless, default, so that, so, otherwise, therefore, stays?, keep, kept,
    agreed, noted, everywhere, prefer, rule, requires?, on purpose, deliberately, out of scope, not allowed,
    """,
    """
    immer, nie, niemals, muss, müssen, darf, nur, weil, deshalb, daher, damit, stattdessen, sondern, ursache, grund,
    entschieden, entscheidung, ab jetzt, ab sofort, künftig, bis, sonst, standardmäßig, gemerkt, bleibt, nicht mehr,
    """,
    "toujours, jamais, désormais, dorénavant, parce qu[e'’], puisque, afin de, doit, doivent, seulement, uniquement, "
    "au lieu de, plutôt que, la cause, la raison, par défaut, ne plus, jusqu['’]à,",
    "siempre, nunca, jamás, porque, ya que, debe, deben, sólo, solo, solamente, únicamente, en lugar de, en vez de, "
    "la causa, la razón, por defecto, a partir de ahora, hasta que, ya no,",
    "sempre, perché, poiché, deve, devono, soltanto, solamente, invece di, la causa, d['’]ora in poi, non più, "
    "nunca, porque, deve, devem, somente, apenas, em vez de, a causa, por padrão, de agora em diante,",
    "altijd, nooit, omdat, moet, moeten, alleen, in plaats van, oorzaak, voortaan, standaard, niet meer,",
    "всегда, никогда, потому что, поскольку, должен, должна, должно, должны, только, вместо, причина, нельзя, "
    "отныне, впредь, по умолчанию, больше не,",
    "必ず, 常に, 絶対に, 決して, 禁止, 原因, 理由, ため, ので, 代わりに, 今後, デフォルト, のみ, べき,",
    "必须, 始终, 永远, 从不, 只能, 只在, 禁止, 不允许, 不要, 原因, 因为, 所以, 改为, 改成, 而不是, 今后, 以后, 默认,",
    "항상, 절대, 반드시, 때문, 원인, 대신, 앞으로, 기본값,",
)
"""Lasting statements: rules, reasons, decisions."""

RULES = _anywhere(
    """
    always, never, must, mustn['’]?t, only, don['’]?t, do not, no, not, stop, prefer, everywhere, every, from now on,
    from here on, in future, instead, rules?, we, keep, stays?, until, remember, should, shouldn['’]?t, needs?, has to,
    have to, wants?, decided, actually, in fact, turns out,
    """,
    """
    immer, nie, niemals, muss, müssen, nur, kein, keine, keinen, nicht, ab jetzt, ab sofort, künftig, merk, merke dir,
    stattdessen, bis, wir, soll, sollen, darf, eigentlich,
    """,
    "toujours, jamais, désormais, dorénavant, doit, doivent, ne, pas, à partir de maintenant, uniquement, il faut, "
    "nous, en fait, siempre, nunca, jamás, debe, deben, solo, sólo, a partir de ahora, hay que, ojo, recuerda, "
    "nosotros, en realidad,",
    "sempre, deve, devono, non, soltanto, d['’]ora in poi, ricorda, não, nunca, devem, apenas, lembre,",
    "altijd, nooit, moet, moeten, niet, geen, alleen, voortaan, onthoud,",
    "всегда, никогда, должен, должна, должно, должны, не, нельзя, только, запомни, отныне, впредь,",
    "必ず, 常に, 絶対, 決して, 禁止, 今後, ないで, 使わない, しない, のみ, 覚えて,",
    "必须, 始终, 永远, 从不, 只能, 禁止, 不允许, 不要, 不能, 别, 今后, 以后, 记住,",
    "항상, 절대, 반드시, 하지 ?마, 앞으로, 기억해, 금지,",
)
"""What turns a request into a rule or a correction."""

NEXT_STEPS = _opening(
    """
    let me, let['’]?s, let us, now (?:let|i|update|fix|add|check|run|remove|create|find|hook), i['’]?ll, i will,
    i['’]?m (?:going to|looking|checking|reading|searching|running), looking, checking, reading, searching, running,
    ich schaue, ich sehe, ich prüfe, ich werde, lass mich, mal sehen,
    """,
    "je vais, je regarde, je vérifie, laisse-moi, laissez-moi, voy a, déjame, permíteme, vou, deixe-me, deixa eu, "
    "vado a, fammi, ik ga, ik kijk, laat me, сейчас я, давайте, それでは, 確認します, 让我, 我来, 我先, 제가,",
)
"""What somebody says about the own next step."""

TALK = _opening(
    """
    i need to, shall i, should i, would you like, do you want, want me, first,? i, then i, next,? i, next would,
    next (?:is|up|on), now you can, here(?:['’]s| is| are), anything else, happy to, feel free, you can, try, this will,
    ready (?:to|for|when), glad, enjoy, sorry, you['’]re (?:right|welcome), thanks, thank you,
    soll ich, möchtest du, als nächstes, gerne?, bitte schön,
    """,
    "voulez-vous, veux-tu, avec plaisir, de rien, voici, quieres que, quiere que, de nada, avísame, "
    "aquí (?:está|tienes), quer que, por nada, vuoi che, prego, ecco, zal ik, graag gedaan, хотите, пожалуйста, "
    "обращайтесь, どういたしまして, 不客气, 천만에요,",
)
"""What an assistant says of what comes next, or to be polite."""

_CHECKS = r"(?:tests|checks|suite|build|lint(?:er|ing)?|type ?check(?:er|ing)?|ci|code|everything)"
_WELL = r"(?:pass(?:es|ed|ing)?|green|clean(?:ly)?|succe(?:eds|eded|ssful|ssfully)|compiles?|works?|fine|in place)"
ROUTINE = _anywhere(
    rf"{_CHECKS}(?: \w{{1,20}}){{0,3}} {_WELL}, compile[sd]? {_WELL}, \d+ (?:tests )?passed,",
    """
    committed, pushed, merged, rebased, formatted, reverted, green, clean, tidied, working tree,
    insertions, deletions, no (?:other|errors|changes? needed), without (?:errors|warnings), nothing else, typos?,
    looks right, let me know, good to go, ready to,
    """,
    "tests laufen, durchgelaufen, gepusht, committet, alles grün, fehlerfrei, keine fehler, sag bescheid,",
    "tests? passent, sans erreur, aucune erreur, n['’]hésite[sz]?, pruebas pasan, sin errores, "
    "testes passam, sem erros, senza errori, tests slagen, тесты прошли, без ошибок,",
    "テストが通り, テストは通り, 問題ありません, エラーはありません, 测试通过, 测试都通过, 没有错误, 테스트가 통과,",
)
"""What is true after every piece of work."""

_SEVERAL = r"(?:a few|several|some|two|three|four|both|various|many|\d)"
PROPOSALS = _anywhere(
    rf"{_SEVERAL} (?:\w{{1,12}} )?(?:ways|options|possibilities|choices|alternatives|approaches), option [a-d1-5],",
    """
    options?(?: are)?(?=:), (?:i|we|you) (?:would|could|might|can also|suggest|recommend|propose), (?:i|we|you)['’]d,
    my (?:suggestion|recommendation|proposal), proposals?(?=:), suggestions?(?=:), alternatively,
    either [^.\\n]{1,80} or, should we, shall we, shall i, should i, do you want, want me to, would you (?:like|prefer),
    which (?:one|of), how about, what about,
    (?:changes|steps|plan|fix|design) would be,
    """,
    "ich würde, (?:wir|du|man) (?:könnten?|könntest), (?:mein )?vorschlag(?=:), möglichkeiten(?=:), "
    "(?:ich )?empfehle, sollen wir, soll ich, möchtest du, entweder [^.\\n]{1,80} oder,",
    "je propose, je suggère, (?:on|nous|vous) pourr(?:ait|ions|iez), je recommande, plusieurs options, voulez-vous, "
    "veux-tu, propongo, sugiero, podr(?:íamos|ías|ía), recomiendo, varias opciones, quieres que,",
    "sugiro, pod(?:er)?íamos, recomendo, várias opções, quer que, suggerisco, potremmo, consiglio, varie opzioni, "
    "vuoi che, можно было бы, предлагаю, рекомендую, хотите,",
    "提案します, おすすめ, でしょうか, ましょうか, 建议, 可以考虑, 要不要, 好吗, 할까요, 추천,",
)
"""What may be done but is not: it becomes a memory when it is."""

WONDERING = _anywhere(
    """
    maybe, perhaps, what do you think, any (?:idea|thoughts|opinion)s?, (?:should|could|can|shall) we, how about,
    what about, what if, is it possible, vielleicht, was meinst du, sollen wir, könnten wir, wäre es möglich,
    """,
    "peut-être, qu['’]en penses-tu, et si, est-il possible, quizás?, qué (?:opinas|te parece), y si, es posible, "
    "talvez, o que você acha, forse, che ne pensi, misschien, может быть, как думаешь,",
    "どう思, かもしれ, 也许, 你觉得, 可以吗, 어때,",
)
"""What a user asks for an opinion on has not been decided."""

REFERENCES = _opening(
    """
    it, its, this, that, these, those, they, them, their, he, she, his, her, both, the same, so did, the former,
    the latter, one of them, neither, there, hence, which, otherwise, also, then,
    """,
    "es, das, dies, diese, dieser, dieses, sie, er, beide, beides, dort, dadurch, damit, dabei, deshalb, daher, sonst,",
    "il, elle, ils, elles, ce, cela, ça, cet, cette, ces, c['’]est, ceci, eso, esto, esta, este, estos, ellos, ambos, "
    "isso, isto, ele, ela, eles, elas, questo, questa, quello, lui, lei, essi, entrambi,",
    "он, она, оно, они, это, этот, эта, эти, оба, これ, それ, この, その, 这, 这个, 它, 它们, 이것, 그것, 이는,",
)
"""A sentence that opens so is understood only after the one before."""
