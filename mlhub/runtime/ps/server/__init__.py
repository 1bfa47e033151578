"""The parameter server's side: shards, chunks, pending versions, snapshots, the write-ahead log."""
