"""What Dagster loads, nothing else."""

from memory_pipeline.orchestration.build import build_definitions

defs = build_definitions()
