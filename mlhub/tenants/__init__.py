# SPDX-License-Identifier: Apache-2.0
"""Organisations, teams, projects, memberships, roles, quotas and API tokens: who may do what, and how much."""
