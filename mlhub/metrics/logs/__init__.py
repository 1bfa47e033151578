# SPDX-License-Identifier: Apache-2.0
"""Logs of jobs: stored within limits, read in pages, searched."""
