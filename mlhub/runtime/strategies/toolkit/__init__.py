"""What several strategies use; no strategy of its own."""
