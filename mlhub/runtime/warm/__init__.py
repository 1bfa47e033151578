# SPDX-License-Identifier: Apache-2.0
"""Processes that have imported torch before they have a tenant: pods (start.py) and dry runs (inspection.py)."""
