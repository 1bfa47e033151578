# SPDX-License-Identifier: Apache-2.0
"""What must hold in every history, as functions that return what does not."""

from __future__ import annotations

from scheduler import ClusterSnapshot, JobSnapshot, Launch, Phase, Plan, Preempt, Resize
from scheduler.api.plan import Decision
from tests.scheduler.cases import Case


def rounds(case: Case, policy: str, n: int, **parameters: float) -> list[tuple[Case, Plan]]:
    """The case through n rounds, each plan carried out, half a minute after the one before."""
    story, case = [], case.with_cache()
    for _ in range(n):
        plan = case.decide(policy, **parameters)
        story.append((case, plan))
        case = case.after(plan, seconds=30.0)
    return story


def restless(case: Case, policy: str) -> list[Decision]:
    """What changes in a cluster in which nothing happens, after 16 rounds. No time slice of gandiva ends within them:
    its jobs take turns for as long as one waits.
    """
    story = rounds(case, policy, 24, **({"slice_s": 7200.0} if policy == "gandiva" else {}))
    decisions = [decision for _, plan in story[16:] for decision in plan.decisions]
    return [one for one in decisions if isinstance(one, Launch | Resize | Preempt)]


def held_gpus(snapshot: ClusterSnapshot, plan: Plan) -> dict[str, list[tuple[str, int]]]:
    """GPUs that each job holds once the plan is acted upon, before any job that was preempted has left."""
    held: dict[str, list[tuple[str, int]]] = {}
    for job in snapshot.jobs:
        decision = plan.of(job.id)
        allocations = [job.allocation] if job.phase is not Phase.WAITING else []
        if isinstance(decision, Launch | Resize):
            allocations.append(decision.allocation)
        slots = {(s.node, g) for a in allocations if a for s in a.shares for g in s.gpus}
        held[job.id] = sorted(slots)
    return held


def exceeded_limits(before: Case, plan: Plan) -> list[str]:
    """Tenants that hold more GPUs or run more jobs than they may, with those below, while the plan is carried out."""
    held, exceeded = held_gpus(before.snapshot, plan), []
    for tenant in before.tenants:
        members = {t.id for t in before.tenants if tenant.id in (t.id, t.parent)}
        running = [job for job in before.jobs if job.tenant in members and held[job.id]]
        n_gpus = sum(_most_at_once(job, plan) for job in running)
        if tenant.max_gpus is not None and n_gpus > tenant.max_gpus:
            exceeded.append(f"{tenant.id}: {n_gpus} GPUs of {tenant.max_gpus}")
        if tenant.max_running_jobs is not None and len(running) > tenant.max_running_jobs:
            exceeded.append(f"{tenant.id}: {len(running)} jobs of {tenant.max_running_jobs}")
    return exceeded


def _most_at_once(job: JobSnapshot, plan: Plan) -> int:
    decision = plan.of(job.id)
    before = job.allocation.n_workers if job.allocation and job.phase is not Phase.WAITING else 0
    return max(before, decision.allocation.n_workers if isinstance(decision, Launch | Resize) else 0)
