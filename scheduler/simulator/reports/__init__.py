"""What a simulation came to: completion times, fairness, calibration, comparisons, figures."""
