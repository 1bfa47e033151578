# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: the folder of a step, optimiser state in it, and the sweep of old ones."""
