"""Readers and writers of traces and clusters, and made-up days."""
