# SPDX-License-Identifier: Apache-2.0
"""Strategies in which every step waits for all workers."""
