"""Jobs that share a GPU: how fast each runs, learnt from measured pairs."""
