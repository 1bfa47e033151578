"""Strategies in which replicas train separately and are averaged from time to time."""
