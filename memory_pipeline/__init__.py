"""memory_pipeline: pi session logs in, long-term memory out."""

__version__ = "0.1.0"
