# SPDX-License-Identifier: Apache-2.0
"""Owners get what they are guaranteed, whatever the policy; who gives it back, and how little of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import POLICIES, Keep, Launch, Plan, Preempt, Resize, TenantSnapshot, Wait
from scheduler.api.snapshot import Reclaim
from tests.scheduler.cases import Case, cluster, job, kinds, reason, sizes

EVERY = pytest.mark.parametrize("policy", sorted(POLICIES))


def shared(gpus: int = 8, **bob: object) -> Case:
    """alice is guaranteed half of a node, bob the other half."""
    case = cluster(gpus=gpus).quota("alice", guarantee=gpus // 2)
    return case.quota("bob", guarantee=gpus // 2, **bob)


def lost(plan: Plan) -> set[str]:
    return {d.job for d in plan.decisions if isinstance(d, Preempt)}


def settled(case: Case, policy: str, rounds: int = 6) -> Case:
    for _ in range(rounds):
        case = case.after(case.decide(policy), seconds=600.0)
    return case


def held(case: Case, tenant: str) -> int:
    return sum(
        j.allocation.n_workers for j in case.jobs if j.tenant == tenant and j.phase != "waiting" and j.allocation
    )


@EVERY
def test_idle_guarantees_are_lent(policy: str) -> None:
    case = shared().waiting(*(job(f"a{i}", gpus=2, length_s=1e5) for i in range(4)))
    assert held(settled(case, policy), "alice") == 8


@EVERY
def test_an_owner_takes_back_what_it_lent(policy: str) -> None:
    case = shared().running(*(job(f"a{i}", gpus=2, length_s=1e5) for i in range(4)))
    case = case.waiting(job("b", gpus=4, length_s=1e6, tenant="bob", at=900.0))
    plan = case.decide(policy)
    assert len(lost(plan)) == 2
    for name in lost(plan):
        assert plan.of(name).explanations[0].facts == {"tenant": "alice", "used": 8, "guarantee": 4}
    after = settled(case, policy)
    assert (held(after, "alice"), held(after, "bob")) == (4, 4)


@EVERY
@pytest.mark.parametrize(("of_parent", "of_child"), [(0, 0), (2, 0), (2, 1), (2, 2), (4, 2)])
def test_jobs_of_a_parents_own_do_not_take_turns_with_the_child_that_took_its_guarantee_back(
    policy: str, of_parent: int, of_child: int
) -> None:
    """They waited longer, and are within the parent's guarantee, too; what the child is guaranteed is not theirs.

    Neither where guarantees of a type can cover the jobs of one as well as of the other.
    """
    tenants = (
        TenantSnapshot("org", guarantee=4, guarantee_by_type=(("v100", of_parent),)),
        TenantSnapshot("child", parent="org", guarantee=2, guarantee_by_type=(("v100", of_child),)),
    )
    case = replace(cluster(gpus=4), tenants=tenants)
    case = case.running(*(job(f"own{i}", gpus=2, length_s=1e6, tenant="org") for i in range(2)))
    case = case.waiting(job("waits", gpus=2, length_s=1e6, tenant="child", at=900.0))
    after = settled(case, policy)
    assert (held(after, "org"), held(after, "child")) == (2, 2)
    for _ in range(4):
        after = settled(after, policy, rounds=1)
        assert (held(after, "org"), held(after, "child")) == (2, 2)


@EVERY
def test_v4_a_job_that_waits_within_its_guarantee_is_served_before_any_tenant_borrows_anew(policy: str) -> None:
    case = shared().running(job("a0", gpus=4, length_s=1e5))
    case = case.waiting(job("a1", gpus=2, length_s=10), job("a2", gpus=2, length_s=10))
    case = case.waiting(job("b", gpus=4, length_s=1e6, tenant="bob", at=900.0))
    after = settled(case, policy)
    assert (held(after, "alice"), held(after, "bob")) == (4, 4)


@EVERY
def test_owners_jobs_within_the_guarantee_are_not_pushed_out_by_borrowers(policy: str) -> None:
    case = shared().running(job("b", gpus=4, length_s=1e6, tenant="bob"), job("a0", gpus=4, length_s=1e3))
    case = case.waiting(*(job(f"a{i}", gpus=1, length_s=5) for i in range(1, 5)))
    plan = case.decide(policy)
    assert isinstance(plan.of("b"), Keep | Resize)
    assert held(settled(case, policy), "bob") == 4


@EVERY
def test_nor_for_gpus_that_are_idle_only_by_the_books(policy: str) -> None:
    """A closed node's GPU can be borrowed by the books; bob must not have one of alice's in its stead."""
    case = cluster(nodes=2, gpus=2).with_node("n0", is_schedulable=False).quota("alice", guarantee=2)
    case = case.waiting(*(job(f"a{i}", gpus=1, length_s=1e5) for i in range(2)))
    case = settled(case, policy).waiting(job("b", gpus=1, length_s=10.0, tenant="bob"))
    for _ in range(4):
        plan = case.decide(policy)
        assert lost(plan) == set()
        case = case.after(plan, seconds=600.0)
    assert held(case, "alice") == 2


@EVERY
def test_an_owner_that_never_reclaims_waits_until_borrowers_end_and_no_tenant_borrows_anew(policy: str) -> None:
    case = shared(reclaim=Reclaim.NEVER).running(*(job(f"a{i}", gpus=2, length_s=1e5) for i in range(4)))
    case = case.waiting(job("b", gpus=4, length_s=1e6, tenant="bob"), job("a9", gpus=2, length_s=10.0))
    plan = case.decide(policy)
    assert not lost(plan) & {"b"}
    assert isinstance(plan.of("b"), Wait)
    assert reason(plan.of("b")) == "guarantee_borrowed"
    gone = replace(case, jobs=tuple(j for j in case.jobs if j.id != "a3"))
    assert isinstance(gone.decide(policy).of("a9"), Wait)
    gone = replace(case, jobs=tuple(j for j in case.jobs if j.id not in ("a2", "a3")))
    assert held(settled(gone, policy), "bob") == 4


def test_lower_priority_reclaims_only_from_jobs_of_lower_priority() -> None:
    case = shared(reclaim=Reclaim.LOWER_PRIORITY)
    case = case.running(*(job(f"a{i}", gpus=2, length_s=1e5, priority=i // 2) for i in range(4)))
    low, high = (job("b", gpus=4, tenant="bob", priority=p, length_s=1e6) for p in (0, 1))
    assert lost(case.waiting(low).decide("fifo")) == set()
    assert lost(case.waiting(high).decide("fifo")) == {"a0", "a1"}


def test_lowest_priority_goes_first_then_the_cheapest_to_stop_then_the_newest() -> None:
    case = shared()
    case = case.running(job("important", gpus=2, priority=5, length_s=1e5), since=900.0)
    case = case.running(job("dear", gpus=2, length_s=1e5, start_s=500.0), since=800.0)
    case = case.running(job("old", gpus=2, length_s=1e5), since=100.0)
    case = case.running(job("new", gpus=2, length_s=1e5), since=200.0)
    one = case.waiting(job("b", gpus=2, tenant="bob", length_s=1e6))
    two = case.waiting(job("b", gpus=4, tenant="bob", length_s=1e6))
    assert lost(one.decide("fifo")) == {"new"}
    assert lost(two.decide("fifo")) == {"new", "old"}


def test_who_turns_out_not_to_be_needed_stays() -> None:
    case = shared().running(job("large", gpus=4, length_s=1e5, priority=1), since=0.0)
    case = case.running(job("small", gpus=1, length_s=1e5), job("rest", gpus=3, length_s=1e5), since=100.0)
    case = case.waiting(job("b", gpus=4, tenant="bob", length_s=1e6, priority=9))
    case = replace(case, jobs=tuple(replace(j, allocated_at_s=200.0) if j.id == "small" else j for j in case.jobs))
    assert lost(case.decide("fifo")) == {"small", "rest"}
    three = replace(case, jobs=(*case.jobs[:-1], job("b", gpus=3, tenant="bob", length_s=1e6, priority=9)))
    assert lost(three.decide("fifo")) == {"rest"}


@pytest.mark.parametrize("policy", ["mlhub", "optimus"])
def test_an_elastic_borrower_shrinks_instead_of_leaving(policy: str) -> None:
    case = shared().running(job("a", max_workers=8, length_s=1e5), n=8)
    case = case.waiting(job("b", gpus=2, tenant="bob", length_s=1e5))
    plan = case.decide(policy)
    assert kinds(plan)["a"] == "Resize"
    assert 1 <= sizes(plan)["a"] <= 6
    assert held(settled(case, policy), "bob") == 2


def test_an_organisation_s_guarantee_serves_its_projects_against_others() -> None:
    tenants = (
        TenantSnapshot("org", guarantee=4),
        TenantSnapshot("vision", parent="org"),
        TenantSnapshot("speech", parent="org"),
        TenantSnapshot("alice"),
    )
    case = replace(cluster(gpus=8), tenants=tenants).running(*(job(f"a{i}", gpus=2, length_s=1e5) for i in range(4)))
    case = case.waiting(job("v", gpus=2, tenant="vision", length_s=1e5), job("s", gpus=4, tenant="speech", at=1.0))
    plan = case.decide("fifo")
    assert len(lost(plan)) == 1
    assert reason(plan.of("s")) == "nothing_to_borrow"
    assert held(settled(case, "fifo"), "vision") == 2


@pytest.mark.slow
def test_a_claim_keeps_gpus_of_the_type_that_it_needs() -> None:
    case = cluster(nodes=2, gpus=4)
    case = case.with_node("n1", gpu_type="k80").quota("alice", guarantee=4).quota("bob", guarantee=4)
    case = case.running(*(job(f"a{i}", gpus=4, length_s=1e5) for i in range(2)))
    case = case.waiting(job("a9", gpus=4, length_s=1.0), job("b", gpus=4, tenant="bob", gpu_types=("v100",), at=1.0))
    for policy in sorted(POLICIES):
        plan = case.decide(policy)
        assert "a0" in lost(plan), policy
        assert held(settled(case, policy), "bob") == 4, policy


def test_a_guarantee_gives_nothing_that_hard_limits_forbid() -> None:
    case = shared(max_running_jobs=0).running(*(job(f"a{i}", gpus=2, length_s=1e5) for i in range(4)))
    plan = case.waiting(job("b", gpus=2, tenant="bob")).decide("fifo")
    assert lost(plan) == set()


def test_a_guarantee_of_more_than_there_is_still_serves_first() -> None:
    case = cluster(gpus=4).quota("alice", guarantee=4).quota("bob", guarantee=100)
    case = case.running(job("a", gpus=4, length_s=1e5)).waiting(job("b", gpus=2, tenant="bob"))
    assert kinds(case.decide("fifo")) == {"a": "Keep", "b": "Wait"}


@EVERY
def test_where_more_is_guaranteed_than_there_is_owners_do_not_take_turns_with_borrowers(policy: str) -> None:
    tenants = (TenantSnapshot("org"), TenantSnapshot("alice", parent="org"), TenantSnapshot("charlie"))
    tenants = (*tenants, TenantSnapshot("bob", parent="org", guarantee=2))
    case = replace(cluster(gpus=1), tenants=tenants)
    case = case.waiting(job("c", gpus=1, tenant="charlie", priority=1, length_s=10), job("a", gpus=1, length_s=1e5))
    after = settled(case, policy)
    assert held(after, "alice") == 1
    assert kinds(after.decide(policy)) == {"a": "Keep", "c": "Wait"}


def test_without_guarantees_nothing_changes() -> None:
    case = cluster(gpus=4).running(job("a", gpus=4, length_s=1e5)).waiting(job("b", gpus=2, tenant="bob"))
    assert isinstance(case.decide("fifo").of("b"), Wait)
    assert isinstance(cluster(gpus=4).waiting(job("b", gpus=2, tenant="bob")).decide("fifo").of("b"), Launch)


def scattered() -> Case:
    """Six GPUs are free and alice's own, but the two on n0 are without CPUs: they do not take her gang."""
    case = cluster(nodes=2, gpus=4).quota("alice", guarantee=8).running(job("a", gpus=2, cpus_per_worker=32.0))
    return case.waiting(job("gang", gpus=6, length_s=10.0, cpus_per_worker=8.0))


def test_a_gang_that_finds_no_place_does_not_keep_its_tenants_guarantee_from_its_smaller_jobs() -> None:
    plan = scattered().waiting(job("small", gpus=2, length_s=1e5)).decide("mlhub")
    assert kinds(plan) == {"a": "Keep", "gang": "Wait", "small": "Launch"}


@pytest.mark.parametrize("policy", ["fifo", "srsf", "mlhub"])
def test_a_claim_that_stays_unmet_is_looked_at_again_after_a_minute_once(policy: str) -> None:
    case = scattered()
    plan = case.decide(policy)
    assert plan.wake_at_s is not None
    assert plan.wake_at_s <= case.now_s + 60.0
    again = case.after(plan, seconds=60.0)
    assert again.decide(policy).wake_at_s is None
