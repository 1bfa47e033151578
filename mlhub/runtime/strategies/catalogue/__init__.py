"""What strategies there are, as data: parameters with types and bounds, modes, presets. Loads no torch."""
