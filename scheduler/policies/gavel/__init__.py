"""Gavel: time shares of GPU types by linear programs, kept by rounds."""
