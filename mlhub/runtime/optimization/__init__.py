"""How weights are updated: learning-rate schedules, the FTRL optimiser, the gradient noise scale. Knows no workers."""
