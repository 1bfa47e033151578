"""The worker's side of the parameter server: push, pull, reconnection, bounded delay."""
