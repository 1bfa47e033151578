"""Pollux: goodput by a genetic search over allocation matrices."""
