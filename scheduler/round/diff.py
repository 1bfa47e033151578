# SPDX-License-Identifier: Apache-2.0
"""Step 5 of a round: placement's targets against what is held; out of it come the decisions."""

from __future__ import annotations

from scheduler.api.host_resources import held_resources
from scheduler.api.plan import Decision, Explanation, Keep, Launch, Preempt, Reason, Resize, Wait
from scheduler.placement.state import PlacementTargets
from scheduler.round.state import RoundState

STAYING = frozenset({Reason.UNCHANGED, Reason.RESTART_NOT_WORTH_IT})
_UNCHANGED = (Explanation(Reason.UNCHANGED),)


def resume_resized(state: RoundState) -> dict[str, Decision]:
    """Returns launches of jobs that stopped in order to be resized, once all that they were promised is free."""
    decisions: dict[str, Decision] = {}
    for job in state.snapshot.jobs if state.resuming else ():
        target = state.resuming.get(job.id)
        if target is None:
            continue
        n, gpu_type = target.n_workers, state.free_now.gpu_type_of(target)
        host = held_resources(job, target)
        may_now = state.ledger_now.allows(job.tenant, gpus=n, user=job.user, gpu_type=gpu_type, host=host)
        partners = state.colocated_with.get(job.id, ())
        if may_now and state.physically_free.fits(job, target, colocated_with=partners):
            state.physically_free.reserve(job, target)
            state.ledger_now.reserve(job.tenant, gpus=n, user=job.user, gpu_type=gpu_type, host=host)
            facts = {"n_workers": n}
            decisions[job.id] = Launch(job.id, target, (Explanation(Reason.RESUMES_RESIZED, facts),))
        else:
            decisions[job.id] = Wait(job.id, ())
    return decisions


def diff(state: RoundState, targets: PlacementTargets) -> dict[str, Decision]:
    """Returns a decision for every candidate that does not go on waiting; preempted jobs get their explanations
    later.
    """
    decisions: dict[str, Decision] = {}
    for job in state.running:
        if job.id in targets.leaving:
            decisions[job.id] = Preempt(job.id, ())
        elif job.id not in targets.placed:
            decisions[job.id] = Keep(job.id, _about_staying(targets.kept.get(job.id, ())))
    runs = {job.id: job.allocation for job in state.running}
    for job_id, (allocation, explanations) in targets.placed.items():
        if runs.get(job_id) == allocation:  # a restart on the very same GPUs would gain nothing
            decisions[job_id] = Keep(job_id, _UNCHANGED)
            continue
        kind = Resize if job_id in runs else Launch
        decisions[job_id] = kind(job_id, allocation, explanations)
        state.physically_free.reserve_gpus(allocation)  # what it adds to what it holds already
    return decisions


def _about_staying(explanations: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Reasons to change do not explain a job that was left alone after all."""
    fitting = tuple([e for e in explanations if e.reason in STAYING])
    return fitting or _UNCHANGED
