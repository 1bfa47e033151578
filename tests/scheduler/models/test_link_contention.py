# SPDX-License-Identifier: Apache-2.0
"""Prices of places by hand: what a gang gets on links that others use, and what it takes from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import GangAllocation, JobSnapshot, Mode, NodeAllocation
from scheduler.api.arrays import Floats
from scheduler.models.link_contention import LinkContention
from scheduler.models.network.flows import Links, settle
from scheduler.models.speed.job_speeds import JobSpeeds
from tests.scheduler.cases import Case, cluster, job


def contention(case: Case) -> LinkContention:
    return LinkContention(Links(case.nodes, case.racks), JobSpeeds(case.nodes, case.racks))


def ring(*nodes: str, gpus: int = 2, first: int = 0) -> GangAllocation:
    shares = tuple(NodeAllocation(node, tuple(range(first, first + gpus))) for node in nodes)
    return GangAllocation(Mode.ALL_REDUCE, gpus * len(nodes), 0, shares)


def talkative(id: str, **more: float) -> JobSnapshot:
    """Computes 0.1 s; 4 workers send 1.5 · 8 Gbit: 1.2 s at 10 Gb/s, of which 0.05 s hide."""
    return job(id, gpus=4, parameters_bytes=1_000_000_000, mode=Mode.ALL_REDUCE, **more)


CASE = cluster(nodes=4, gpus=4, racks=2)  # n0, n2 in rack r0; n1, n3 in r1; uplinks of 40 Gb/s


def test_alone_a_gang_has_its_links_whole() -> None:
    traffic = contention(CASE)
    effect = traffic.effect(talkative("a"), ring("n0", "n2"))
    assert effect.step_s == pytest.approx(0.1 + 1.2 - 0.05, rel=1e-3)
    assert effect.bps == pytest.approx(10e9)
    assert effect.slowed == ()


def test_on_a_nic_that_another_gang_uses_both_are_slower() -> None:
    traffic = contention(CASE)
    traffic.add(talkative("b"), ring("n0", "n2", first=2))
    assert traffic.busy("nic", "n0") == pytest.approx(1.2 / 1.25, rel=1e-2)
    effect = traffic.effect(talkative("a"), ring("n0", "n2"))
    assert effect.bps == pytest.approx(10e9 / 1.98, rel=0.03)  # the other is on nearly always
    ((slowed, before_s, after_s),) = effect.slowed
    assert slowed == "b"
    assert before_s == pytest.approx(1.25, rel=1e-2)
    assert after_s == pytest.approx(effect.step_s, rel=0.02)


def test_on_other_links_no_gang_is_slower() -> None:
    traffic = contention(CASE)
    traffic.add(talkative("b"), ring("n0", "n2"))
    assert traffic.effect(talkative("a"), ring("n1", "n3")).slowed == ()
    assert traffic.effect(talkative("a"), ring("n1", gpus=4)).bps == float("inf")


def test_who_leaves_is_forgotten_and_who_stays_is_as_fast_as_before() -> None:
    traffic = contention(CASE)
    a, b = talkative("a"), talkative("b")
    traffic.add(b, ring("n0", "n2", first=2))
    alone_s = traffic.effect(b, ring("n0", "n2", first=2)).step_s
    traffic.add(a, ring("n0", "n2"))
    assert traffic.effect(b, ring("n0", "n2", first=2)).step_s > 1.5 * alone_s
    traffic.remove("a")
    assert traffic.effect(b, ring("n0", "n2", first=2)).step_s == pytest.approx(alone_s)


def test_three_gangs_on_an_uplink_share_it() -> None:
    """Uplinks of 10 Gb/s, as fast as a NIC: rings across both racks get a third each, if they never rest."""
    case = Case(CASE.nodes, tuple(type(rack)(rack.name, 10e9) for rack in CASE.racks))
    traffic = contention(case)
    endless = {id: talkative(id, step_overhead_s=0.001) for id in "abc"}
    traffic.add(endless["a"], ring("n0", "n1"))
    traffic.add(endless["b"], ring("n2", "n3"))
    traffic.add(endless["c"], ring("n2", "n1", first=2))
    assert traffic.effect(endless["a"], ring("n0", "n1")).step_s == pytest.approx(3.6, rel=0.02)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_the_quick_form_is_near_the_fixed_point(n_gangs: int, seed: int) -> None:
    """Rings over one uplink each way, that compute from nothing to as long as they send."""
    rng = np.random.default_rng(seed)
    case = Case(CASE.nodes, tuple(type(rack)(rack.name, 10e9) for rack in CASE.racks))
    jobs = [talkative(f"j{i}", step_overhead_s=float(rng.uniform(0.01, 1.0))) for i in range(n_gangs)]
    places = [ring(f"n{2 * (i % 2)}", f"n{2 * (i // 2 % 2) + 1}", gpus=1) for i in range(n_gangs)]
    places = [GangAllocation(p.mode, 4, 0, p.shares) for p in places]
    traffic, demands = contention(case), []
    for one, place in zip(jobs, places, strict=True):
        traffic.add(one, place)
        demand = traffic.demand(one, place)
        assert demand is not None
        demands.append(demand)

    def stepping(wire_s: Floats) -> Floats:
        return np.array([d.slower_step_s(float(s)) for d, s in zip(demands, wire_s, strict=True)])

    exact = settle([d.flow for d in demands], Links(case.nodes, case.racks).capacity_L, stepping).step_s_F
    quick = [traffic.effect(one, place).step_s for one, place in zip(jobs, places, strict=True)]
    assert quick == pytest.approx(exact.tolist(), rel=0.12)
