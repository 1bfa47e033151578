# SPDX-License-Identifier: Apache-2.0
"""Jobs that slow each other on one node, as was measured, are parted, and are not put together again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import JobSnapshot, PairObservation, PairResource, Plan, Resize, decide, policy_named
from scheduler.api.memory import RoundMemory
from scheduler.api.topology import InputSet
from tests.scheduler.cases import Case, cluster, job, kinds

SLOW = PairObservation("fast", "heavy", 0.5, 0.7, PairResource.NODE)


def decided(case: Case, *pairs: PairObservation, policy: str = "mlhub") -> Plan:
    snapshot = replace(case.snapshot, pairs=pairs)
    return decide(snapshot, policy=policy_named(policy, {}), memory=RoundMemory())


def two_on_one_node(**more: float) -> Case:
    jobs = [
        job("a", gpus=1, length_s=2000, family="fast", start_s=10.0, **more),
        job("b", gpus=1, length_s=2000, family="heavy", start_s=10.0, **more),
    ]
    case = cluster(nodes=2, gpus=2).running(jobs[0]).running(jobs[1])
    assert {share.node for one in case.jobs if one.held for share in one.held.shares} == {"n0"}
    return case


def nodes_of(plan: Plan, job_id: str) -> set[str]:
    decision = plan.of(job_id)
    assert isinstance(decision, Resize)
    return {share.node for share in decision.allocation.shares}


@pytest.mark.parametrize("policy", ["mlhub", "srtf"])
def test_two_that_slow_each_other_are_parted(policy: str) -> None:
    plan = decided(two_on_one_node(), SLOW, policy=policy)
    assert sorted(kinds(plan).values()) == ["Keep", "Resize"]
    mover = next(id for id, kind in kinds(plan).items() if kind == "Resize")
    assert nodes_of(plan, mover) == {"n1"}
    assert plan.of(mover).explanations[0].reason == "migrates"


def test_two_that_do_not_are_left_alone() -> None:
    harmless = replace(SLOW, norm_a=0.97, norm_b=1.0)
    on_gpus = replace(SLOW, resource=PairResource.GPU)
    for pairs in ((), (harmless,), (on_gpus,)):
        assert set(kinds(decided(two_on_one_node(), *pairs)).values()) == {"Keep"}


def test_a_move_that_does_not_repay_its_restart_is_not_made() -> None:
    case = two_on_one_node()
    nearly_done = replace(case, jobs=tuple(replace(one, steps_done=one.steps_total - 20) for one in case.jobs))
    assert set(kinds(decided(nearly_done, SLOW)).values()) == {"Keep"}


def test_what_a_mover_would_fetch_counts_with_its_restart() -> None:
    case = two_on_one_node()
    case = replace(case, jobs=tuple(replace(one, inputs="data") for one in case.jobs))
    for size_bytes, moved in ((10**9, 1), (10**13, 0)):
        snapshot = replace(case.snapshot, pairs=(SLOW,), input_sets=(InputSet("data", size_bytes),))
        plan = decide(snapshot, policy=policy_named("mlhub", {}), memory=RoundMemory())
        assert list(kinds(plan).values()).count("Resize") == moved


def test_a_job_starts_on_a_node_without_those_that_slow_it() -> None:
    def start(*pairs: PairObservation) -> set[str]:
        running = job("a", gpus=1, length_s=2000, family="fast")
        waiting: JobSnapshot = job("b", gpus=1, family="heavy")
        plan = decided(cluster(nodes=2, gpus=2).running(running).waiting(waiting), *pairs)
        decision = plan.of("b")
        return {share.node for share in decision.allocation.shares}  # type: ignore[union-attr]

    assert start() == {"n0"}  # the tightest fit
    assert start(SLOW) == {"n1"}


def test_a_job_starts_with_one_that_slows_it_where_there_is_no_other_place() -> None:
    running = job("a", gpus=1, length_s=2000, family="fast")
    case = cluster(nodes=1, gpus=2).running(running).waiting(job("b", gpus=1, family="heavy"))
    assert kinds(decided(case, SLOW)) == {"a": "Keep", "b": "Launch"}
