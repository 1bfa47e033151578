# SPDX-License-Identifier: Apache-2.0
"""Asks a policy, and checks its answer before placement works with it: every error names the policy and the remedy."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scheduler.api.proposal import Grant, Proposal
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.toolkit.policy import Policy, View
from scheduler.quota.budget import Budget


class PolicyError(ValueError):
    """Says what a policy did wrong, with its name; a ValueError, as it is for parameters that a policy refuses."""


def ask(
    policy: Policy,
    view: View,
    *,
    budget: Budget,
    memory: Mapping[str, Any],
    candidate: Callable[[str], JobSnapshot | None],
) -> Proposal:
    """Returns the policy's proposal. candidate: the job of view.jobs by its id; None if it is none of them.

    Raises PolicyError if the policy fails, or if its answer is none that a round can carry out.
    """
    try:
        proposal = policy.propose(view, budget=budget, memory=memory)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        message = f"policy {policy.name!r} failed in {where}: {type(error).__name__}: {error}"
        raise PolicyError(message) from error
    problem = _problem(proposal, candidate, budget)
    if problem is not None:
        raise PolicyError(f"policy {policy.name!r} {problem}")
    return proposal


def _problem(proposal: object, candidate: Callable[[str], JobSnapshot | None], budget: Budget) -> str | None:
    """What is wrong with the answer; None if nothing is."""
    if not isinstance(proposal, Proposal):
        return f"returned {type(proposal).__name__}; propose() must return a Proposal"
    if not isinstance(proposal.memory, Mapping):
        return f"has a memory of type {type(proposal.memory).__name__}; it must be a dict of JSON values"
    wake_at_s = proposal.wake_at_s
    if wake_at_s is not None and not math.isfinite(wake_at_s):
        return f"has wake_at_s {wake_at_s!r}; it must be a finite number, or None"
    granted: set[str] = set()
    for grant in proposal.grants:
        job = candidate(grant.job)
        if job is None:
            return f"grants GPUs to {grant.job!r}, which is none of view.jobs"
        if grant.job in granted:
            return f"grants GPUs to job {grant.job!r} twice; give each job one grant"
        granted.add(grant.job)
        problem = _problem_of(grant, job, budget)
        if problem is not None:
            return problem
    return None


def _problem_of(grant: Grant, job: JobSnapshot, budget: Budget) -> str | None:
    n, n_reserved = grant.n_workers, budget.granted(job)
    if not isinstance(n, int) or n < 1:
        return f"grants {n!r} workers to job {job.id!r}; it must be a whole number of at least 1"
    if n > n_reserved:
        return f"grants {n} workers to job {job.id!r} and reserved {n_reserved}; call budget.reserve() before"
    if grant.gpu_type != budget.gpu_type(job):
        reserved = budget.gpu_type(job)
        return f"grants GPUs of type {grant.gpu_type!r} to job {job.id!r} and reserved {reserved!r}; name the same type"
    return None
