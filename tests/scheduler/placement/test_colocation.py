# SPDX-License-Identifier: Apache-2.0
"""Jobs on the same GPUs: placed together, with the reason, and never without the node's permission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from scheduler import (
    ClusterSnapshot,
    Explanation,
    GangAllocation,
    Launch,
    Mode,
    NodeAllocation,
    Phase,
    Plan,
    Profile,
    Reason,
    Wait,
    decide,
)
from scheduler.api.snapshot import TenantSnapshot
from scheduler.policies import Grant, Proposal, View
from scheduler.quota.budget import Budget
from scheduler.quota.ledger import Ledger
from tests.scheduler.cases import GIB, Case, cluster, job, kinds

PROFILED = Profile(gpu_memory_bytes=10 * GIB)


@dataclass(frozen=True)
class FixedGrants:
    """Grants what it is given: job to the jobs it is to be co-located with, in that order."""

    grants: Mapping[str, tuple[str, ...]]
    name: str = "fixed"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        jobs = {one.id: one for one in view.jobs}
        granted = []
        for job_id, hosts in self.grants.items():
            one = jobs.get(job_id)
            if one is None:
                continue
            n = one.fixed_workers
            why = (Explanation(Reason.COLOCATED, {"n_workers": n, "partners": ", ".join(hosts), "times": 1.4}),)
            if budget.reserve_colocated(one, n, gpu_type="v100") if hosts else budget.reserve(one, n):
                granted.append(Grant(job_id, n, "v100", why, colocated_with=hosts, only_colocated=len(hosts) < 2))
        return Proposal(tuple(granted), tuple(jobs))


def decided(case: Case, **grants: tuple[str, ...]) -> Plan:
    return decide(case.snapshot, policy=FixedGrants(grants), memory=case.memory)


def profiled(id: str, **more: Any) -> Any:
    return job(id, **({"gpus": 1, "profile": PROFILED} | more))


def shares_of(case: ClusterSnapshot, plan: Plan, id: str) -> tuple[NodeAllocation, ...]:
    decision = plan.of(id)
    if isinstance(decision, Launch):
        return decision.allocation.shares
    held = next(one.allocation for one in case.jobs if one.id == id)
    return held.shares if held else ()


def test_two_jobs_start_on_the_same_gpus() -> None:
    case = cluster(gpus=4, max_jobs_per_gpu=2).waiting(profiled("a", gpus=2), profiled("b", gpus=2))
    plan = decided(case, a=(), b=("a",))
    assert kinds(plan) == {"a": "Launch", "b": "Launch"}
    assert shares_of(case.snapshot, plan, "a") == shares_of(case.snapshot, plan, "b")
    assert "It shares 2 GPUs with a: together they do 1.40 times the work." in plan.of("b").explanations[0].sentence


def test_one_joins_a_running_job_and_both_stay() -> None:
    case = cluster(gpus=2, max_jobs_per_gpu=2).running(profiled("a")).waiting(profiled("b"))
    plan = decided(case, a=(), b=("a",))
    assert kinds(plan) == {"a": "Keep", "b": "Launch"}
    after = case.after(plan, seconds=60)
    assert kinds(decided(after, a=(), b=("a",))) == {"a": "Keep", "b": "Keep"}
    assert kinds(decided(after, b=(), a=("b",))) == {"a": "Keep", "b": "Keep"}


def test_who_is_left_alone_stays_where_it_is() -> None:
    case = cluster(gpus=2, max_jobs_per_gpu=2).running(profiled("a")).waiting(profiled("b"))
    both = case.after(decided(case, a=(), b=("a",)), seconds=60)
    alone = replace(both, jobs=tuple(one for one in both.jobs if one.id == "b"))
    assert kinds(decided(alone, b=())) == {"b": "Keep"}


def test_two_who_are_to_share_no_longer_are_parted() -> None:
    case = cluster(gpus=2, max_jobs_per_gpu=2).running(profiled("a")).waiting(profiled("b"))
    both = case.after(decided(case, a=(), b=("a",)), seconds=60)
    plan = decided(both, a=(), b=())
    assert kinds(plan) == {"a": "Keep", "b": "Resize"}
    gone = both.after(plan).after(plan)  # stopping, then gone
    again = decided(gone, a=(), b=())
    assert shares_of(gone.snapshot, again, "b") == (NodeAllocation("n0", (1,)),)


@pytest.mark.parametrize(
    "changes",
    [{"max_jobs_per_gpu": 1}, {"max_jobs_per_gpu": 2, "gpu_memory_bytes": 16 * GIB}],
    ids=["not allowed", "too little memory"],
)
def test_a_gpu_that_takes_no_second_job_gets_none(changes: dict[str, int]) -> None:
    case = cluster(gpus=2, **changes).running(profiled("a")).waiting(profiled("b"))
    assert kinds(decided(case, a=(), b=("a",))) == {"a": "Keep", "b": "Wait"}


def test_a_third_waits_where_two_may_share() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=2).waiting(profiled("a"), profiled("b"), profiled("c"))
    assert kinds(decided(case, a=(), b=("a",), c=("a",))) == {"a": "Launch", "b": "Launch", "c": "Wait"}


@pytest.mark.parametrize("stranger", ["a", "b"])
def test_what_was_never_profiled_shares_nothing(stranger: str) -> None:
    jobs = [profiled(id, profile=None if id == stranger else PROFILED) for id in ("a", "b")]
    case = cluster(gpus=2, max_jobs_per_gpu=2).running(jobs[0]).waiting(jobs[1])
    assert kinds(decided(case, a=(), b=("a",))) == {"a": "Keep", "b": "Wait"}


@pytest.mark.parametrize("memory_bytes", [60 * GIB, None], ids=["more than half", "never measured"])
def test_two_jobs_never_share_a_gpu_whose_memory_may_not_be_enough(memory_bytes: int | None) -> None:
    jobs = [profiled(id, profile=Profile(gpu_memory_bytes=memory_bytes)) for id in ("a", "b")]
    case = cluster(gpus=2, max_jobs_per_gpu=2, gpu_memory_bytes=80 * GIB).running(jobs[0]).waiting(jobs[1])
    assert kinds(decided(case, a=(), b=("a",))) == {"a": "Keep", "b": "Wait"}


def test_one_waits_until_the_former_partner_has_left() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=3).running(profiled("a")).waiting(profiled("b"))
    both = case.after(decided(case, a=(), b=("a",)), seconds=60).waiting(profiled("c"))
    plan = decided(both, a=(), c=("a",))
    assert kinds(plan) == {"a": "Keep", "b": "Preempt", "c": "Wait"}
    left = both.after(plan).after(plan)  # stopping, then gone
    left = replace(left, jobs=tuple(one for one in left.jobs if one.id != "b"))
    assert kinds(decided(left, a=(), c=("a",))) == {"a": "Keep", "c": "Launch"}


def test_a_shared_gpu_counts_in_full_for_the_quota_of_each() -> None:
    case = cluster(gpus=2, max_jobs_per_gpu=2).quota("bob", max_gpus=0)
    case = case.running(profiled("a")).waiting(profiled("b", tenant="bob", min_workers=1))
    assert isinstance(decided(case, a=(), b=("a",)).of("b"), Wait)
    budget = Budget({"v100": 1}, Ledger([TenantSnapshot("alice", max_gpus=1)]), present={})
    assert budget.reserve(job("a", gpus=1), 1)
    assert not budget.reserve_colocated(job("b", gpus=1), 1, gpu_type="v100")
    budget.release(job("a", gpus=1))
    assert budget.reserve_colocated(job("b", gpus=1), 1, gpu_type="v100")
    assert budget.n_left() == 1


def test_one_lies_on_the_gpus_of_several_and_on_free_ones() -> None:
    case = cluster(gpus=4, max_jobs_per_gpu=2).running(profiled("a"), profiled("b")).waiting(profiled("c", gpus=4))
    plan = decided(case, a=(), b=(), c=("a", "b"))
    assert shares_of(case.snapshot, plan, "c") == (NodeAllocation("n0", (0, 1, 2, 3)),)
    two = cluster(gpus=4, max_jobs_per_gpu=2).running(profiled("a"), profiled("b")).waiting(profiled("c", gpus=2))
    assert shares_of(two.snapshot, decided(two, a=(), b=(), c=("a", "b")), "c") == (NodeAllocation("n0", (0, 1)),)


def test_a_starting_guest_does_not_cost_its_running_host_the_gpus() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=2).running(profiled("a"))
    allocation = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))
    guest = replace(profiled("b"), phase=Phase.STARTING, allocation=allocation)
    plan = decided(replace(case, jobs=(*case.jobs, guest)), a=())
    assert kinds(plan) == {"a": "Keep", "b": "Keep"}


def test_jobs_of_different_circles_do_not_share() -> None:
    for circle, is_colocated in (("p", True), ("q", False)):
        first, second = profiled("a", shares_within="p"), profiled("b", shares_within=circle)
        case = cluster(gpus=1, max_jobs_per_gpu=2).running(first).waiting(second)
        plan = decided(case, a=(), b=("a",))
        assert (kinds(plan)["b"] == "Launch") is is_colocated
