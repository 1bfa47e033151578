"""Strategies in which every step waits for all workers."""
