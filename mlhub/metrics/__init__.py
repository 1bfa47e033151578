"""What pods report: metric points, log lines, progress, checkpoints; stored once, streamed live."""
