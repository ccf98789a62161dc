"""What distilling makes of labelled sessions: ``python -m benchmarks.quality`` (``make eval``)."""
