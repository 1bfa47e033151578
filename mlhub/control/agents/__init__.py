# SPDX-License-Identifier: Apache-2.0
"""Machines with an agent each: the rows of their gangs, their tokens, and what they report and fetch."""
