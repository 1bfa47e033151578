"""Datasets: immutable versions with a manifest, inspected before they can be used."""
