"""Believes nothing that an engine proposes until the turn bears it out: quotes, names, values, and who spoke."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from memory_pipeline.distillation.citing import Quotable, Quote, find_quotes, find_support, plain, speaks_of
from memory_pipeline.distillation.contract import Draft, Judged, Proposal
from memory_pipeline.distillation.instructions import Orders, is_hijack, opens_as_order
from memory_pipeline.distillation.marks import long_words
from memory_pipeline.distillation.repairing import with_instead, without
from memory_pipeline.distillation.said import Said, lowest_trust
from memory_pipeline.distillation.values import Turn
from memory_pipeline.documents import Trust
from memory_pipeline.languages import language_of

NOTHING_SAID = "nobody said a word in this turn"
NO_QUOTE = "none of its quotes occurs in the turn, and nothing else there bears it out"
ONLY_HEARD = "its quotes stand only in what tools printed or in pasted text"
ORDER = "it tells an agent what to do, and the user did not say so"
NOT_THE_USERS = "it is about the user, and not in the user's own words"
OTHER_WORDS = "hardly any of its words occur in the turn"
UNSAID = "a name or value in it occurs nowhere in the turn"
MISPLACED = "a name or value in it belongs to something else in the turn"

FEWEST_WORDS_SAID = 0.2
"""Share of a memory's long words that must occur in its turn; recorded memories have .25 and more."""
_STEM = 5
_REPAIRS = 4
"""How often a memory is mended before it is given up."""
_FALLBACK_LANGUAGE = "en"

_ABOUT_THE_USER = re.compile(
    r"(?:^|[.;:!?]\s)\W{0,3}(?:the user|user)(?:'s\b|\s+(?:prefers?|likes?|dislikes?|loves?|hates?|wants?"
    r"|needs|lives?|works?|owns?|has|is|was|uses"
    r"|speaks?|believes?|thinks?|plans?|expects?|insists?|never|always|does not|doesn't|would|usually|often)\b)"
    r"|\b(?:der|die|des|dem) (?:nutzer|benutzer|anwender)(?:in|s)?\b|\bl['’]utilisat(?:eur|rice)\b"
    r"|\b(?:el|la) usuari[oa]\b|\bl['’]utente\b|\b(?:o|a) usuári[oa]\b|\bde gebruiker\b|\bużytkowni(?:k|czka)"
    r"|\bпользовател|\bkullanıcı|ユーザー|用户",
    re.IGNORECASE,
)


def judge(
    proposals: Sequence[Proposal], spoken: Sequence[Said], *, heard: Sequence[Said] = (), known: Collection[str] = ()
) -> Judged:
    """What of the proposals is grounded in the words of the turn, mended where that can be done, in order.

    ``spoken``: the user's and the assistant's words; ``heard``: what tools printed and calls held, which names are
    checked against; ``known``: names that need not be said, such as the project's. A reason never holds a word of what
    was dropped.
    """
    court = _Court(spoken, heard, known)
    drafts: dict[str, Draft] = {}
    dropped: list[str] = []
    for proposal in proposals:
        verdict = court.judge(proposal)
        if isinstance(verdict, str):
            dropped.append(verdict)
        else:
            drafts.setdefault(verdict.summary, verdict)
    return Judged(tuple(drafts.values()), tuple(dropped))


class _Court:
    """One turn, before which proposals are judged."""

    def __init__(self, spoken: Sequence[Said], heard: Sequence[Said], known: Collection[str]) -> None:
        self._users = [Quotable(one) for one in spoken if one.role == "user"]
        pasted = [one.said.text[start:end] for one in self._users for start, end in one.handed_on]
        read = "\n".join(map(plain, [*(one.text for one in heard if one.role == "tool"), *pasted]))
        users = {id(one.said): one for one in self._users}
        self._spoken = [users.get(id(one)) or Quotable(one, read) for one in spoken]
        self._heard = [Quotable(one) for one in heard]
        self._written = [one for one in self._heard if one.said.role == "assistant"]
        self._turn = Turn(self._spoken, self._heard, known)
        self._own = "\n".join(one.own_words for one in self._users)
        self._orders = Orders([*(one.text for one in heard), *pasted])

    def judge(self, proposal: Proposal) -> Draft | str:
        """The memory, or why there is none."""
        if not self._spoken:
            return NOTHING_SAID
        summary = " ".join(proposal.summary.split())
        quotes = self._quotes(summary, proposal.evidence)
        if isinstance(quotes, str):
            return quotes
        if self._is_strangers_order(summary, quotes):
            return ORDER
        if _ABOUT_THE_USER.search(summary):
            quotes = self._of_the_user(summary, quotes)
            if not quotes:
                return NOT_THE_USERS
        if not self._is_worded_as_the_turn(summary):
            return OTHER_WORDS
        language = language_of(summary)
        mended = self._mended(summary, quotes, language or _FALLBACK_LANGUAGE)
        if mended in (UNSAID, MISPLACED):
            return mended
        return Draft(
            mended,
            proposal.tags,
            cites=tuple(dict.fromkeys(quote.said.doc_id for quote in quotes)),
            trust=self._trust(mended, quotes, language or _FALLBACK_LANGUAGE),
            evidence=tuple(dict.fromkeys(quote.text for quote in quotes)),
            language=language,
        )

    def _quotes(self, summary: str, evidence: Sequence[str]) -> list[Quote] | str:
        """Quotes of people's own words, else of what the assistant wrote in calls, else sentences found for them."""
        found = find_quotes(evidence, self._spoken) or find_quotes(evidence, self._written)
        quotes = [quote for quote in found if self._is_own(quote)]
        if quotes and speaks_of(summary, quotes):
            return quotes
        printed = find_quotes(evidence, self._heard) if not quotes else []
        printed += [quote for quote in found if quote not in quotes]
        if any(is_hijack(around) or opens_as_order(around) for around in map(self._sentence, printed)):
            return ORDER
        return find_support(summary, self._spoken) or (ONLY_HEARD if printed else NO_QUOTE)

    def _is_strangers_order(self, summary: str, quotes: Sequence[Quote]) -> bool:
        """Whether it is an order that the user did not give: told by its words, or found in what was only read."""
        if any(quote.said.role == "user" for quote in quotes):
            return self._orders.is_repeated_in(summary, self._own)
        return is_hijack(summary) or self._orders.is_repeated_in(summary, self._own) or opens_as_order(summary)

    def _of_the_user(self, summary: str, quotes: Sequence[Quote]) -> list[Quote]:
        """The quotes if one of them is the user's own words; else what else the user said that bears it out."""
        if any(quote.said.role == "user" for quote in quotes):
            return list(quotes)
        return find_support(summary, self._users)

    def _is_worded_as_the_turn(self, summary: str) -> bool:
        wanted = {word[:_STEM] for word in long_words(summary)}
        held: set[str] = set()
        for message in (*self._spoken, *self._heard):
            held |= wanted & message.stems
            if len(held) >= FEWEST_WORDS_SAID * len(wanted):
                return True
        return not wanted

    def _mended(self, summary: str, quotes: Sequence[Quote], language: str) -> str:
        """The summary with every name and value in its place; UNSAID or MISPLACED where that can't be had."""
        sentences = [self._around(quote) for quote in quotes]
        for _ in range(_REPAIRS):
            faults = self._turn.faults(summary, sentences, language)
            if not faults:
                return summary
            fault = faults[0]
            better = (
                without(summary, fault.word, unsaid=fault.unsaid)
                if fault.instead is None
                else with_instead(summary, fault.word, fault.instead)
            )
            if better is None:
                return UNSAID if fault.unsaid else MISPLACED
            summary = better
        return UNSAID

    def _trust(self, summary: str, quotes: Sequence[Quote], language: str) -> Trust:
        """The lowest of those quoted; ``tool`` where a name or value was only printed."""
        if self._turn.rests_on_tools(summary, language):
            return "tool"
        return lowest_trust(quote.said.role for quote in quotes)

    def _is_own(self, quote: Quote) -> bool:
        return self._quotable(quote).is_own(quote)

    def _around(self, quote: Quote) -> Quote:
        return self._quotable(quote).around(quote)

    def _sentence(self, quote: Quote) -> str:
        return self._around(quote).text

    def _quotable(self, quote: Quote) -> Quotable:
        return next(one for one in (*self._spoken, *self._heard) if one.said is quote.said)
