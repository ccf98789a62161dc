"""Scores as a table: on the terminal, and as the document that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.table import Table

from benchmarks.quality.configurations import Row
from benchmarks.quality.scoring import Score

COLUMNS = (
    "core facts", "minor facts", "memories a turn", "unmatched", "junk turns with any", "ungrounded", "injected",
    "secrets", "recalled", "duplicates", "over 400", "dropped", "failed", "tokens", "s",
)  # fmt: skip

_INTRODUCTION = """\
# How good the memories are

Measured on labelled sessions by `make eval` (`EVALSET=DIR`: another set of the same make; `JSON=1`: as JSON), which
runs them through the pipeline's own steps into a store that is thrown away. `make eval WRITE=1` writes this file.

- A fact is **kept** if one memory that cites its turn holds at least half of the fact's key terms. Facts of abandoned
  branches are left out: nothing is to be kept of them.
- **unmatched**: memories that hold no labelled fact of the turns they cite (the labels are not complete: such a memory
  may still be good). **junk turns with any**: of the turns from which nothing should be remembered.
- **ungrounded**: memories with a quote that their messages do not hold, or a name, number, version, path or address
  that their turn does not; as `memory-pipeline audit` counts them, **duplicates** too.
- **injected**, **recalled**: memories with words that stand only in planted instructions, or in recalled memories;
  **secrets**: documents of any kind that hold a planted secret. **over 400**: memories of more characters than that.
- **dropped**: what the engine proposed and the pipeline did not keep (why: `JSON=1`). **failed**: turns that came to no
  outcome.
- **tokens** are the server's count; of the recorded answers a quarter of the characters. **s** are seconds of
  distilling on two cores, other programs running.

The recorded answers of a capable model are replayed by a server that finds the turn by its words in the prompt, so
that everything around the model is measured as it would be with a good one. The small chat model (SmolLM2-135M) is
there to prove the path to llama.cpp, and gets only some of the turns. *Padded* sets have K routine sentences mixed into
each final message, junk turns included.
"""


def table(rows: Sequence[Row], data: str) -> Table:
    shown = Table(title=f"Distilling labelled sessions (data {data})", title_justify="left")
    shown.add_column("configuration")
    for column in COLUMNS:
        shown.add_column(column, justify="right")
    for row in rows:
        if row.score is None:
            shown.add_row(row.name, "left out")
        else:
            shown.add_row(row.name, *cells(row.score))
    return shown


def markdown(rows: Sequence[Row], data: str) -> str:
    """The whole document."""
    lines = [_INTRODUCTION, "| configuration | " + " | ".join(COLUMNS) + " |", "|---|" + "---|" * len(COLUMNS)]
    for row in rows:
        empty = ["–"] * len(COLUMNS)
        lines.append(f"| {row.name} | {' | '.join(cells(row.score) if row.score else empty)} |")
    left_out = [f"Left out: {row.name} ({'; '.join(row.problems)})." for row in rows if row.score is None]
    today = datetime.now(UTC).date().isoformat()
    lines += ["", *left_out, f"`make eval`, {today}, data `{data}` (SHA-256 over sessions, labels and answers).", ""]
    return "\n".join(lines)


def cells(score: Score) -> list[str]:
    return [
        _of(score.core_kept, score.core),
        _of(score.minor_kept, score.minor),
        f"{score.memories / score.turns:.2f}" if score.turns else "–",
        _of(score.unmatched, score.memories),
        f"{score.junk_noisy}/{score.junk}",
        str(score.ungrounded),
        str(score.injected),
        str(score.secrets),
        str(score.recalled),
        str(score.duplicates),
        str(score.too_long),
        str(score.dropped.total()),
        str(score.failed),
        f"{score.tokens:,}",
        f"{score.seconds:.1f}",
    ]


def _of(part: int, whole: int) -> str:
    return f"{part / whole:.3f} ({part}/{whole})" if whole else "–"
