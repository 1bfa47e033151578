# SPDX-License-Identifier: Apache-2.0
"""Strategies in which workers push and pull without waiting for each other."""
