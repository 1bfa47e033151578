"""What several policies use; no policy of its own."""
