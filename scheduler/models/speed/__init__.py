# SPDX-License-Identifier: Apache-2.0
"""Step times: one formula, its fit to measurements, and the speeds of all jobs of a round."""
