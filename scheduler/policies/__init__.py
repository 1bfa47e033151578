# SPDX-License-Identifier: Apache-2.0
"""Policies: one file or folder each, none knows another; toolkit/ is what several use, registry.py the list of them."""

from scheduler.api.proposal import Grant, Proposal
from scheduler.policies.abilities import Abilities, abilities_of
from scheduler.policies.registry import POLICIES, parameters_of, policy_named
from scheduler.policies.toolkit.policy import Policy, View

__all__ = [
    "POLICIES",
    "Abilities",
    "Grant",
    "Policy",
    "Proposal",
    "View",
    "abilities_of",
    "parameters_of",
    "policy_named",
]
