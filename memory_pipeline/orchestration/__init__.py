"""Dagster: assets, jobs, sensors, schedules, resources. The only room that imports dagster.

Asset bodies call ``ingestion`` and report; what they do is decided there. The numbers behind the choices here
(batch sizes, pools, intervals) are in docs/architecture.md.
"""
