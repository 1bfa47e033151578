# SPDX-License-Identifier: Apache-2.0
"""Removing what the settings keep for a number of days only: which rows are due (rules.py), and when (tasks.py)."""
