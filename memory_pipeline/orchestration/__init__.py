"""Dagster: assets, jobs, sensors, schedules, resources. The only room that imports dagster.

Asset bodies call ``ingestion`` and report; what they do is decided there. The numbers behind the choices here
(batch sizes, pools, intervals) are in docs/architecture.md.
"""

import warnings

import dagster as dg

# A backfill policy per asset is beta in Dagster and we depend on it; its users can do nothing about the warning.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
