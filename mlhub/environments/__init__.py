# SPDX-License-Identifier: Apache-2.0
"""Environments: Python packages that uploaded code requires, built once by content and added to its pods."""
