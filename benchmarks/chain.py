"""How much the chain costs on top of the model: total time over the time spent waiting for llama.cpp.

    python -m benchmarks.chain [--extracted 3000] [--distilled 30] [--models DIR] [--data EVALSET]

Two runs of the real command in a home of their own, on generated sessions or on copies of those of a labelled set: one
distils by extraction (llama.cpp only embeds), one with the small chat model (llama.cpp does both; a context of 2,048
tokens). The time inside llama.cpp is what the pipeline waited for its answers, HTTP included, as reported by the
materializations. The goal is a ratio of at most 1.15 where a model distils; with extraction memories are embedded
beside the distilling, so that little waiting is left to compare with and seconds per 1,000 turns say more. Processor
seconds, llama.cpp's included, mean something on a busy machine too: over the number of cores they are the least that
the total can be.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from rich.console import Console
from rich.table import Table

from benchmarks.copies import write_copies
from benchmarks.corpus import write_corpus

TURNS_A_SESSION = 10
TURNS_IN_SET = 166  # of the labelled set
CONTEXT = "2048"  # tokens: whole turns would take the small model minutes each on two cores, and measure only itself


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of one run of the command: ``processor`` on all cores, ``model`` that it waited for llama.cpp."""

    turns: int
    memories: int
    total: float
    processor: float
    model: float


def measure(turns: int, *, models: Path | None, chat_gguf: Path | None, data: Path | None) -> Measured:
    """Run the chain once over ``turns`` generated turns, or about as many copied ones of the labelled set ``data``."""
    with tempfile.TemporaryDirectory(prefix="memory-pipeline-bench-") as folder:
        home = Path(folder)
        if data is not None:
            write_copies(data, home / "sessions", copies=math.ceil(turns / TURNS_IN_SET))
        else:
            sessions = max(1, turns // TURNS_A_SESSION)
            write_corpus(home / "sessions", sessions=sessions, turns=min(turns, TURNS_A_SESSION))
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("MEMORY_", "LLAMA_", "ES_", "DAGSTER_"))},
            "HOME": folder,
            "MEMORY_DATA_DIR": str(home / "data"),
            **({"MEMORY_MODELS_DIR": str(models)} if models else {}),
            **({"MEMORY_CHAT_GGUF": str(chat_gguf), "LLAMA_CONTEXT": CONTEXT} if chat_gguf else {}),
        }
        command = [sys.executable, "-m", "memory_pipeline.interfaces.cli"]
        subprocess.run([*command, "models", "pull"], env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        started, used = time.perf_counter(), _processor_seconds()
        subprocess.run([*command, "run", "--sessions", str(home / "sessions")], env=env, cwd=folder, check=True)
        total = time.perf_counter() - started
        return _measured(home / "data" / "dagster", total, _processor_seconds() - used)


def _processor_seconds() -> float:
    """What the children that have ended, and theirs, have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _measured(dagster_home: Path, total: float, processor: float) -> Measured:
    os.environ["DAGSTER_HOME"] = str(dagster_home)
    sums = {"distilled": 0.0, "memories": 0.0, "engine_seconds": 0.0, "embedder_seconds": 0.0}
    extraction = True
    with dg.DagsterInstance.get() as instance:
        for asset in ("memory_summaries", "summary_embeddings"):
            records = instance.fetch_materializations(dg.AssetKey(asset), limit=10_000).records
            for record in records:
                assert record.asset_materialization is not None
                for name, value in record.asset_materialization.metadata.items():
                    if name in sums and isinstance(value.value, int | float):
                        sums[name] += float(value.value)
                    if name == "completion_tokens" and value.value:
                        extraction = False
    model = sums["embedder_seconds"] + (0.0 if extraction else sums["engine_seconds"])
    return Measured(int(sums["distilled"]), int(sums["memories"]), total, processor, model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extracted", type=int, default=3_000, help="turns for the run that extracts; 0: leave out")
    parser.add_argument("--distilled", type=int, default=30, help="turns for the run with the chat model; 0: leave out")
    parser.add_argument("--models", type=Path, default=Path(".cache/models"), help="folder of the pulled models")
    parser.add_argument("--data", type=Path, help="a labelled set whose sessions to copy instead of generated ones")
    arguments = parser.parse_args()
    models = arguments.models.absolute()
    subprocess.run(
        [sys.executable, "-m", "memory_pipeline.interfaces.cli", "models", "pull", "--chat"],
        env={**os.environ, "MEMORY_MODELS_DIR": str(models)},
        check=True,
    )
    chat = next(models.glob("*mol*.gguf"))
    table = Table(title="The chain, embedded llama.cpp", title_justify="left")
    for column in (
        "run",
        "turns",
        "memories",
        "total s",
        "processor s",
        "in llama.cpp s",
        "ratio",
        "s per 1,000 turns",
    ):
        table.add_column(column, justify="left" if column == "run" else "right")
    for name, turns, gguf in (
        ("extraction + embeddings", arguments.extracted, None),
        ("small chat model + embeddings", arguments.distilled, chat),
    ):
        if turns:
            m = measure(turns, models=models, chat_gguf=gguf, data=arguments.data)
            ratio = f"{m.total / m.model:.2f}" if m.model else "–"
            seconds = (f"{taken:.1f}" for taken in (m.total, m.processor, m.model))
            table.add_row(name, str(m.turns), str(m.memories), *seconds, ratio, f"{1_000 * m.total / m.turns:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
