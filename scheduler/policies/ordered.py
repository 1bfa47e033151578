"""Serves jobs strictly by an order, with preemption: who does not fit is passed over. Used by several policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.policies.policy import Grant, Proposal, n_held
from scheduler.snapshot import JobSnapshot

Note = Callable[[JobSnapshot, JobSnapshot], Explanation | None]  # (who leaves, who comes) -> why


def serve_in_order(order: Sequence[JobSnapshot], *, budget: Budget, note: Note) -> Proposal:
    """Each job at the size it has, or its fixed one, while the budget lasts; running jobs left over have to leave.

    note: why a running job has to leave for the last waiting one that was served before it; None if that is not why.
    """
    grants = []
    notes = {}
    newcomer: JobSnapshot | None = None
    n_left = budget.n_left()
    for job in order:
        held = n_held(job)
        if not held and not n_left:
            continue
        n_workers = held or job.fixed_workers
        if budget.take(job, n_workers):
            fits = Explanation(Reason.FITS, {"n_workers": n_workers})
            grants.append(Grant(job.id, n_workers, budget.gpu_type(job), (fits,)))
            newcomer = newcomer if held else job
            n_left = budget.n_left()
        elif held and newcomer is not None and (why := note(job, newcomer)) is not None:
            notes[job.id] = (why,)
    return Proposal(tuple(grants), tuple(job.id for job in order), notes)
