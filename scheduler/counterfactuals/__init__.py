# SPDX-License-Identifier: Apache-2.0
"""Why a job is where it is, and what would change that: blockers, jobs ahead, and actions that decide() confirms."""

from scheduler.counterfactuals.actions import Action, ActionKind, TenantPart, applied, candidate_actions
from scheduler.counterfactuals.advice import Advice, Counsel, advice_of, advise
from scheduler.counterfactuals.blockers import Blocker, BlockerKind, blockers_of, workers_needed, workers_to_start
from scheduler.counterfactuals.ranking import AheadJob, jobs_ahead

__all__ = [
    "Action",
    "ActionKind",
    "Advice",
    "AheadJob",
    "Blocker",
    "BlockerKind",
    "Counsel",
    "TenantPart",
    "advice_of",
    "advise",
    "applied",
    "blockers_of",
    "candidate_actions",
    "jobs_ahead",
    "workers_needed",
    "workers_to_start",
]
