"""Predicts: speed, bandwidth, progress, cost, and how a plan will go. Knows snapshots; no policy, no placement."""
