# SPDX-License-Identifier: Apache-2.0
"""Pods on machines with an agent each, without Kubernetes: docs/decisions/agents.md.

messages.py: what agents and the platform say to each other. backend.py: the five verbs, over rows that agents fetch
and report to (store.py says what it needs of them). status.py: from rows to a gang's status.
"""
