# SPDX-License-Identifier: Apache-2.0
"""Pollux: goodput by a genetic search over allocation matrices."""
