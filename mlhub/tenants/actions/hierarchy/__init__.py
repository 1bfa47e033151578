# SPDX-License-Identifier: Apache-2.0
"""Writes to organisations, teams and projects, and to their places in the tree."""
