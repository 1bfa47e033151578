"""DL2: a trained network that gives GPUs away step by step."""
