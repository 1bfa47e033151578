# SPDX-License-Identifier: Apache-2.0
"""How weights are updated: learning-rate schedules, the FTRL optimiser, the gradient noise scale. Knows no workers."""
