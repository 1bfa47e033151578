"""Strategies in which workers push and pull without waiting for each other."""
