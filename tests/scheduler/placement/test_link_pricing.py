# SPDX-License-Identifier: Apache-2.0
"""Placement by price, through decide(): quiet links, no harm to neighbours, moves that pay, and how it is explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import (
    GangAllocation,
    Keep,
    Launch,
    Mode,
    NodeAllocation,
    Phase,
    RackSnapshot,
    Resize,
    RoundMemory,
    decide,
    policy_named,
)
from scheduler.api.topology import InputSet
from tests.scheduler.cases import Case, cluster, job, reason

RING = {"parameters_bytes": 1_000_000_000, "mode": Mode.ALL_REDUCE}


def racks_of_two(*, uplink_bps: float = 10e9, racks: int = 3) -> Case:
    """Nodes of 4 GPUs, two in each rack: n0 n3 in r0, n1 n4 in r1, n2 n5 in r2."""
    case = cluster(nodes=2 * racks, gpus=4, racks=racks)
    return replace(case, racks=tuple(RackSnapshot(rack.name, uplink_bps) for rack in case.racks))


def held(case: Case, id: str, nodes: dict[str, int], **more: object) -> Case:
    """A running gang on the lowest free GPUs of these nodes."""
    taken = {(s.node, g) for one in case.jobs if one.allocation for s in one.allocation.shares for g in s.gpus}
    shares = tuple(
        NodeAllocation(node, tuple([g for g in range(4) if (node, g) not in taken][:k])) for node, k in nodes.items()
    )
    n = sum(nodes.values())
    one = job(id, gpus=n, length_s=50_000, start_s=15.0, **more)
    allocation = GangAllocation(Mode.ALL_REDUCE, n, 0, shares)
    one = replace(one, phase=Phase.RUNNING, allocation=allocation, allocated_at_s=0.0, training_since_s=0.0)
    return replace(case, jobs=(*case.jobs, one))


def nodes_of(decision: object) -> set[str]:
    assert isinstance(decision, Launch | Resize)
    return {share.node for share in decision.allocation.shares}


def crowded() -> Case:
    """2 GPUs are free on n0, n2 (whose NICs a ring uses), and on n1, n3 (quiet: jobs inside their nodes).

    To move anybody away would cost more than it gives.
    """
    case = held(racks_of_two(racks=2), "loud", {"n0": 2, "n2": 2}, lost_s=1e6, **RING)
    return held(held(case, "q1", {"n1": 2}, lost_s=1e6), "q3", {"n3": 2}, lost_s=1e6)


def test_a_gang_goes_where_the_links_are_quiet() -> None:
    case = crowded().waiting(job("new", gpus=4, length_s=5000, **RING))
    assert nodes_of(case.decide("mlhub", prices_places=False).of("new")) == {"n0", "n2"}
    plan = case.decide("mlhub")
    assert nodes_of(plan.of("new")) == {"n1", "n3"}
    sentences = [e.sentence for e in plan.of("new").explanations]
    assert sentences[-1] == "On rack r1 its gradients get 10.0 Gb/s; on rack r0 it would be 5.1."


def test_however_wide_the_uplinks_are_a_gang_goes_where_the_nics_are_quiet() -> None:
    case = replace(crowded(), racks=tuple(RackSnapshot(f"r{i}", 100e9) for i in range(2)))
    plan = case.waiting(job("new", gpus=4, length_s=5000, **RING)).decide("mlhub")
    assert nodes_of(plan.of("new")) == {"n1", "n3"}


def test_places_in_a_single_rack_are_not_priced() -> None:
    case = crowded()
    nodes = tuple(replace(node, rack="r0") for node in case.nodes)
    plan = replace(case, nodes=nodes).waiting(job("new", gpus=4, length_s=5000, **RING)).decide("mlhub")
    assert nodes_of(plan.of("new")) == {"n0", "n1"}
    assert [e.reason.value for e in plan.of("new").explanations] == ["fits"]


def test_a_gang_whose_larger_places_are_all_slower_is_not_restarted_at_its_size() -> None:
    traffic = {"parameters_bytes": 20_000_000, "mode": Mode.ALL_REDUCE}
    case = held(racks_of_two(racks=2), "here", {"n0": 2}, **traffic)
    case = replace(
        case, jobs=(replace(case.jobs[0], min_workers=1, max_workers=4, step_overhead_s=0.0, example_s=1e-3),)
    )
    case = held(held(case, "loud", {"n0": 2, "n1": 3}, **RING), "too", {"n2": 3, "n3": 3}, **RING)
    decision = case.decide("mlhub").of("here")
    assert isinstance(decision, Keep)


def test_a_gang_without_traffic_goes_anywhere() -> None:
    case = crowded().waiting(job("new", gpus=4, length_s=5000))
    assert nodes_of(case.decide("mlhub").of("new")) == {"n0", "n2"}


def test_a_gang_in_one_node_has_no_explanation_of_links() -> None:
    plan = racks_of_two().waiting(job("a", gpus=4, **RING)).decide("mlhub")
    assert [e.reason.value for e in plan.of("a").explanations] == ["fits"]


def test_across_racks_it_takes_the_uplinks_that_no_gang_uses() -> None:
    """Two free GPUs in each of four racks; r0 and r1 have a ring across."""
    case = racks_of_two(racks=4)
    case = held(case, "loud", {"n0": 4, "n1": 4}, **RING)
    for i, node in enumerate(("n4", "n5", "n6", "n7")):
        case = held(case, f"q{i}", {node: 2})
    case = held(held(case, "full2", {"n2": 4}), "full3", {"n3": 4})
    plan = case.waiting(job("new", gpus=4, length_s=5000, **RING)).decide("mlhub")
    assert nodes_of(plan.of("new")) == {"n6", "n7"}


def scattered() -> Case:
    """A ring across two racks next to another, though both nodes of r2 have been free for long."""
    case = held(racks_of_two(), "loud", {"n0": 2, "n1": 2}, **RING)
    return held(case, "a", {"n3": 2, "n4": 2}, **RING).at(20_000.0)


def test_a_badly_placed_gang_moves_when_that_repays_its_restart() -> None:
    plan = scattered().decide("mlhub")
    moved = [d for d in plan.decisions if isinstance(d, Resize)]
    assert moved
    assert all(reason(d) == "migrates" for d in moved)
    assert all(d.allocation.n_workers == 4 and len(nodes_of(d)) == 1 for d in moved)


def test_it_stays_where_the_restart_costs_more_than_the_move_gains() -> None:
    case = scattered()
    nearly_done = replace(case, jobs=tuple(replace(one, steps_done=one.steps_total - 3.0) for one in case.jobs))
    assert all(isinstance(d, Keep) for d in nearly_done.decide("mlhub").decisions)


def test_it_stays_where_fetching_its_inputs_takes_longer_than_the_move_saves() -> None:
    case = scattered()
    snapshot = replace(
        case.snapshot,
        jobs=tuple(replace(one, inputs="data") for one in case.jobs),
        input_sets=(InputSet("data", 10**16),),
    )
    plan = decide(snapshot, policy=policy_named("mlhub", {}), memory=RoundMemory())
    assert all(isinstance(d, Keep) for d in plan.decisions)


def test_after_a_move_it_comes_to_rest() -> None:
    case = scattered()
    for _ in range(4):
        case = case.after(case.decide("mlhub"), seconds=1000.0)
    assert all(isinstance(d, Keep) for d in case.decide("mlhub").decisions)


@pytest.mark.parametrize("policy", ["fifo", "srtf", "optimus"])
def test_other_policies_place_as_they_did(policy: str) -> None:
    case = crowded().waiting(job("new", gpus=4, length_s=5000, **RING))
    assert not any("gbps" in e.facts for d in case.decide(policy).decisions for e in d.explanations)
    assert all(isinstance(d, Keep) for d in scattered().decide(policy).decisions)


def test_a_place_that_harms_others_more_than_it_helps_is_not_taken() -> None:
    """Three urgent rings fill the uplinks; a fourth would take more from them than it would do itself."""
    case = racks_of_two(uplink_bps=1e9)
    for i, pair in enumerate((("n0", "n1"), ("n3", "n4"))):
        case = held(case, f"urgent{i}", dict.fromkeys(pair, 3), priority=3, **RING)
    case = held(held(case, "full2", {"n2": 4}), "full5", {"n5": 4})
    waiting = case.waiting(job("new", gpus=4, length_s=5000, **RING))
    assert reason(waiting.decide("mlhub").of("new")) == "network_contention"
    assert isinstance(waiting.decide("mlhub", prices_places=False).of("new"), Launch)
