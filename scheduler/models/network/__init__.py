"""Traffic on links: what a synchronisation sends, and how flows share a link."""
