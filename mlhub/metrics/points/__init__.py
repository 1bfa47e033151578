# SPDX-License-Identifier: Apache-2.0
"""Points of metrics: stored within limits, read as curves, compared between jobs."""
