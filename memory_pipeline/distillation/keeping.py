"""What of a model's proposals becomes memories: what is short enough, grounded, and said once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from memory_pipeline.distillation.contract import Draft, Judged, Proposal
from memory_pipeline.distillation.duplicates import near_duplicate
from memory_pipeline.distillation.grounding import judge
from memory_pipeline.distillation.said import Said
from memory_pipeline.distillation.shortening import MEMORY_CHARS, whole_sentences

TOO_LONG = f"longer than {MEMORY_CHARS} characters in one sentence"
REPEATED = "says again what another memory of the turn says"


def keep(
    proposals: Sequence[Proposal], spoken: Sequence[Said], *, heard: Sequence[Said] = (), known: Collection[str] = ()
) -> Judged:
    """The memories, in order, and why the other proposals are none. Long ones are cut back to whole sentences.

    ``known``: names that a memory may hold though nobody said them in the turn.
    """
    dropped: list[str] = []
    fitting: list[Proposal] = []
    for proposal in proposals:
        summary = whole_sentences(proposal.summary)
        if summary is None:
            dropped.append(TOO_LONG)
        else:
            fitting.append(replace(proposal, summary=summary))
    judged = judge(fitting, spoken, heard=heard, known=known)
    dropped += judged.dropped
    kept: dict[str, Draft] = {}
    for draft in judged.drafts:
        if whole_sentences(draft.summary) != draft.summary:  # mended from its quotes, and longer for it
            dropped.append(TOO_LONG)
        elif near_duplicate(draft.summary, {summary: summary for summary in kept}) is not None:
            dropped.append(REPEATED)
        else:
            kept[draft.summary] = draft
    return Judged(tuple(kept.values()), tuple(dropped))
