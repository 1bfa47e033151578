# SPDX-License-Identifier: Apache-2.0
"""What a simulation came to: completion times, fairness, calibration, comparisons, figures."""
