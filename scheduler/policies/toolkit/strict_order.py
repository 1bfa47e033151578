# SPDX-License-Identifier: Apache-2.0
"""Serves jobs strictly by an order, with preemption; a job that does not fit is skipped. Used by several policies."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.models.standing_order import OrderedJobs, OrderKey, StandingOrder
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.quota.budget import Budget

Note = Callable[[JobSnapshot, JobSnapshot], Explanation | None]  # (leaving job, arriving job) -> why


def in_order(view: View, *, name: str, key: OrderKey) -> OrderedJobs:
    """Returns all jobs by their keys, the lowest first; those that wait keep their places from round to round.

    Keys are unique; that of a waiting job depends on its snapshot only. name: of the order, one for each key.
    """
    return view.speeds.cluster.orders.setdefault(name, StandingOrder()).ordered(view.jobs, key)


def serve_in_order(order: OrderedJobs, *, budget: Budget, note: Note) -> Proposal:
    """Proposes each job at the size it has, or its fixed one, while the budget lasts; other running jobs have to leave.

    note: why a running job has to leave for the last waiting one that was served before it; None if that is not why.
    """
    grants = []
    leaving = {job.id: job for job in order.running}
    notes = {}
    newcomer: JobSnapshot | None = None
    most_left, waiting = budget.most_left(), Phase.WAITING
    for job in order.jobs:
        if not most_left:
            break
        if job.phase is waiting and job.fixed_workers > most_left:
            continue
        held = n_held(job)
        n_workers = held or job.fixed_workers
        if budget.reserve(job, n_workers):
            grants.append(_grant(job.id, n_workers, budget.gpu_type(job)))
            newcomer = newcomer if held else job
            most_left = budget.most_left()
        elif held and newcomer is not None and (why := note(job, newcomer)) is not None:
            notes[job.id] = (why,)
        leaving.pop(job.id, None)
    for job in leaving.values():
        if newcomer is not None and (why := note(job, newcomer)) is not None:
            notes[job.id] = (why,)
    return Proposal(tuple(grants), tuple(order.ids), notes)


def _grant(job_id: str, n_workers: int, gpu_type: str) -> Grant:
    return Grant(job_id, n_workers, gpu_type, (Explanation(Reason.FITS, {"n_workers": n_workers}),))
