"""Names in a cluster, made of what people call things."""

from __future__ import annotations

import re
from pathlib import PurePath

from memory_pipeline.documents import digest


def project_name(project: str) -> str:
    """Of a project's path: its last part, and a hash of all of it."""
    last = re.sub(r"[^a-z0-9]+", "-", PurePath(project).name.lower()).strip("-")
    return f"{last or 'project'}-{digest(project)[:6]}"
