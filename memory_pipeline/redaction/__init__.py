"""Secrets out, before anything leaves ``sessions/``.

``Redactor`` replaces what Kingfisher's rules recognise by ``[redacted:kind:xxxxxx]``; ``load_key`` gives the key that
makes the same secret read the same everywhere. Findings are never logged, printed or put into an error.
"""

from memory_pipeline.redaction.key import load_key
from memory_pipeline.redaction.redactor import Redacted, Redactor

__all__ = ["Redacted", "Redactor", "load_key"]
