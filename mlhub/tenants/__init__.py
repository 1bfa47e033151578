"""Organisations, teams, projects, memberships, roles, quotas and API tokens: who may do what, and how much."""
