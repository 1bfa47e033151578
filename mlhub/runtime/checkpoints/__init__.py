"""Checkpoints: the folder of a step, optimiser state in it, and the sweep of old ones."""
