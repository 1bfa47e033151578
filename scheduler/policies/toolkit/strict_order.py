# SPDX-License-Identifier: Apache-2.0
"""Serves jobs strictly by an order, with preemption; a job that does not fit is skipped. Used by several policies."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.quota.budget import Budget

OrderKey = Callable[[JobSnapshot], tuple[Any, ...]]
_Entry = tuple[tuple[Any, ...], JobSnapshot]
Note = Callable[[JobSnapshot, JobSnapshot], Explanation | None]  # (leaving job, arriving job) -> why

_JOB, _ID = itemgetter(1), attrgetter("id")
FEW = 8  # new entries, times this, are fewer than a queue that is not sorted anew for them


def in_order(view: View, *, name: str, key: OrderKey) -> list[JobSnapshot]:
    """Returns all jobs by their keys, the lowest first.

    Keys are unique; that of a waiting job depends on its snapshot only.

    Waiting jobs whose snapshot is the same object as in the round before keep their keys and their order: in a
    simulation a long queue hardly changes. name: of the order, one for each key.
    """
    waiting = {job.id: job for job in view.jobs if job.phase is Phase.WAITING}
    queues = view.speeds.cluster.queues
    queue = [entry for entry in queues.get(name, ()) if waiting.get(entry[1].id) is entry[1]]
    if len(queue) < len(waiting):
        queued = {job.id for _, job in queue}
        _insert(queue, [(key(job), job) for job in waiting.values() if job.id not in queued])
    queues[name] = queue
    entries = queue.copy()
    _insert(entries, [(key(job), job) for job in view.jobs if job.phase is not Phase.WAITING])
    return list(map(_JOB, entries))


def _insert(queue: list[_Entry], new: list[_Entry]) -> None:
    """Puts new entries into their places in a sorted queue."""
    if len(new) * FEW > len(queue):
        queue += new
        queue.sort()
        return
    for entry in new:
        insort(queue, entry)


def serve_in_order(order: Sequence[JobSnapshot], *, budget: Budget, note: Note) -> Proposal:
    """Proposes each job at the size it has, or its fixed one, while the budget lasts; other running jobs have to leave.

    note: why a running job has to leave for the last waiting one that was served before it; None if that is not why.
    """
    grants = []
    notes = {}
    newcomer: JobSnapshot | None = None
    most_left, waiting = budget.most_left(), Phase.WAITING
    for job in order:
        if job.phase is waiting and (not most_left or job.fixed_workers > most_left):
            continue
        held = n_held(job)
        n_workers = held or job.fixed_workers
        if budget.reserve(job, n_workers):
            grants.append(_grant(job.id, n_workers, budget.gpu_type(job)))
            newcomer = newcomer if held else job
            most_left = budget.most_left()
        elif held and newcomer is not None and (why := note(job, newcomer)) is not None:
            notes[job.id] = (why,)
    return Proposal(tuple(grants), tuple(map(_ID, order)), notes)


def _grant(job_id: str, n_workers: int, gpu_type: str) -> Grant:
    return Grant(job_id, n_workers, gpu_type, (Explanation(Reason.FITS, {"n_workers": n_workers}),))
