# SPDX-License-Identifier: Apache-2.0
"""Usage: GPU-hours of every attempt in an append-only ledger, and reports by organisation, project, person or day."""
