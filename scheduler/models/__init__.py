# SPDX-License-Identifier: Apache-2.0
"""Predicts: speed, bandwidth, progress, cost, and how a plan will go. Knows snapshots; no policy, no placement."""
