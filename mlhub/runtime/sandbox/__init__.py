"""Runs strangers' code outside a pod: inspection, dry runs, trials."""
