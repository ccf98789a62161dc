"""Secrets out, before anything leaves ``sessions/``.

``Redactor`` replaces what the rules recognise by ``[redacted:kind:xxxxxx]``; ``load_key`` gives the key that
makes the same secret read the same everywhere. Findings are never logged, printed or put into an error.
"""

from memory_pipeline.redaction.custom import Custom, load_custom
from memory_pipeline.redaction.key import load_key
from memory_pipeline.redaction.redacted import Redacted, is_redacted
from memory_pipeline.redaction.redactor import RULES_VERSION, Redactor
from memory_pipeline.redaction.session import SessionSecrets

__all__ = [
    "RULES_VERSION",
    "Custom",
    "Redacted",
    "Redactor",
    "SessionSecrets",
    "is_redacted",
    "load_custom",
    "load_key",
]
