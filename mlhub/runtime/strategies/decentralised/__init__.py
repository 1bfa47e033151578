"""Strategies in which each worker exchanges weights with few peers."""
