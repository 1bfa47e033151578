# SPDX-License-Identifier: Apache-2.0
"""A waiting job that requests more workers than it could ever have gets what it could, and holds up no other job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import POLICIES, Mode, policy_named
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted
from scheduler.api.user_limits import UserLimit
from scheduler.counterfactuals import advise
from tests.scheduler.cases import Case, cluster, job, kinds, reason, sizes

WISH = job("wish", min_workers=1, requested_workers=40, at=1.0)


def started(case: Case, policy: str, *, rounds: int = 12) -> dict[str, int]:
    """The workers of each job's first start; a job ends a round after it."""
    found: dict[str, int] = {}
    for _ in range(rounds):
        plan = case.decide(policy)
        done = {one.id for one in case.jobs if one.held is not None}
        found = sizes(plan) | found
        case = case.after(plan, seconds=60.0)
        case = replace(case, jobs=tuple(one for one in case.jobs if one.id not in done))
    return found


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_wish_beyond_the_cluster_starts_under_every_policy_and_so_do_those_behind_it(policy: str) -> None:
    case = cluster(nodes=2, gpus=4).waiting(WISH, job("next", gpus=1, at=2.0))
    assert started(case, policy).keys() == {"wish", "next"}


@pytest.mark.parametrize("policy", ["fifo", "capacity", "srtf", "backfill"])
def test_the_wish_is_reduced_to_what_there_is_and_the_reason_says_so(policy: str) -> None:
    plan = cluster(nodes=2, gpus=4).waiting(WISH).decide(policy)
    assert sizes(plan) == {"wish": 8}
    assert plan.of("wish").explanations[-1].sentence == (
        "It requested 40 workers; the cluster, or a limit that counts for it, never allows more than 8."
    )


@pytest.mark.parametrize(
    ("changes", "n"),
    [
        ({"gpu_types": ("k80",)}, 2),
        ({"cpus_per_worker": 16.0}, 4),
        ({"tenant": "three"}, 3),
        ({"tenant": "typed"}, 2),
        ({"tenant": "hosts"}, 5),
        ({"tenant": "lends", "user": "ann"}, 3),
        ({"min_workers": 3, "tenant": "three"}, 3),
        ({"requested_workers": 5}, 5),
        ({"max_workers": 6}, 6),
        ({"mode": Mode.PARAMETER_SERVER, "cpus_per_worker": 8.0, "cpus_per_server": 8.0}, 8),
    ],
)
def test_types_hosts_quotas_and_limits_of_users_count(changes: dict[str, Any], n: int) -> None:
    """On eight GPUs of one type and two of another."""
    case = cluster(nodes=2, gpus=4, cpus=32.0)
    case = replace(case, nodes=(*case.nodes, replace(case.nodes[0], name="n9", n_gpus=2, gpu_type="k80")))
    case = case.quota("three", max_gpus=3).quota("typed", gpus_by_type=(("v100", 1),))
    case = case.quota("hosts", max_cpus=5).quota("lends", user_limits=(UserLimit("ann", max_gpus=3),))
    wish = replace(WISH, **changes)
    plan = case.waiting(wish, job("next", gpus=1, at=2.0)).decide("fifo")
    assert sizes(plan)["wish"] == n


def test_a_wish_that_fits_stays_as_it_is() -> None:
    held = cluster(nodes=2, gpus=4).running(job("r", gpus=1))
    plan = held.waiting(replace(WISH, requested_workers=8)).decide("fifo")
    assert [one.reason.value for one in plan.of("wish").explanations] == ["too_few_free_gpus"]


def test_nodes_that_take_no_new_jobs_do_not_reduce_it_and_others_do_not_wait_for_them() -> None:
    """It would stay small for good. Where sizes change, it starts."""
    case = cluster(nodes=2, gpus=4).with_node("n1", is_schedulable=False)
    case = case.waiting(replace(WISH, requested_workers=8), job("next", gpus=1, at=2.0)).with_cache()
    for policy in ("fifo", "capacity", "backfill", "mlhub", "fifo"):
        plan = case.decide(policy)
        assert kinds(plan)["wish"] == ("Launch" if policy == "mlhub" else "Wait")
        if policy != "mlhub":
            assert (reason(plan.of("wish")), kinds(plan)["next"]) == ("nodes_cordoned", "Launch")
    assert sizes(case.with_node("n1", is_schedulable=True).decide("fifo")) == {"wish": 8}


def test_a_type_whose_gpu_hours_are_used_up_does_not_count() -> None:
    spent = GpuHourBudget(
        1.0,
        period=BudgetPeriod.DAY,
        on_exhausted=OnExhausted.STOP_ALL,
        gpu_type="v100",
        used_gpu_hours=2.0,
        ends_at_s=9e4,
    )
    case = cluster(nodes=2, gpus=4).with_node("n1", gpu_type="k80").quota("alice", budgets=(spent,))
    assert sizes(case.waiting(WISH).decide("fifo")) == {"wish": 4}


@pytest.mark.parametrize("policy", ["fifo", "capacity"])
@pytest.mark.parametrize("hopeless", [{"gpus": 9}, {"gpus": 4, "tenant": "three"}, {"gpus": 5, "gpu_types": ("k80",)}])
def test_a_job_whose_least_size_is_never_there_holds_up_nobody_else(policy: str, hopeless: dict[str, Any]) -> None:
    case = cluster(nodes=2, gpus=4).quota("three", max_gpus=3)
    case = case.waiting(job("hopeless", at=1.0, **hopeless), job("next", gpus=1, at=2.0, tenant="three"))
    plan = case.decide(policy)
    assert kinds(plan) == {"hopeless": "Wait", "next": "Launch"}
    assert reason(plan.of("hopeless")).startswith("larger_than_")


def test_a_decision_does_not_depend_on_the_rounds_before() -> None:
    case = cluster(nodes=2, gpus=4).waiting(WISH, job("next", gpus=1, at=2.0))
    kept = case.with_cache()
    for smaller in (False, True, False):
        changes = (lambda one: one.quota("alice", max_gpus=3)) if smaller else (lambda one: one)
        assert changes(kept).decide("fifo").decisions == changes(case).decide("fifo").decisions


def test_what_helps_is_reckoned_at_the_reduced_size() -> None:
    case = cluster(nodes=2, gpus=4).running(job("r", gpus=2, length_s=900.0)).waiting(WISH)
    counsel = advise(case.snapshot, "wish", policy=policy_named("fifo", {}), memory=case.memory)
    assert counsel.need == 8
    assert [blocker.need for blocker in counsel.blockers if blocker.is_blocking] == [8]


def test_a_raised_quota_gives_more_of_the_wish() -> None:
    case = cluster(nodes=2, gpus=4).quota("alice", max_gpus=3).waiting(WISH)
    assert sizes(case.decide("fifo")) == {"wish": 3}
    assert sizes(case.quota("alice", max_gpus=6).decide("fifo")) == {"wish": 6}
