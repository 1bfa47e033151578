# SPDX-License-Identifier: Apache-2.0
"""Quotas as the scheduler and pages see them: the tree of tenants, limits of users, budgets of GPU-hours."""
