# SPDX-License-Identifier: Apache-2.0
"""Bandwidth by hand: what a gang sends over each link, and what it gets where others send, too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import GangAllocation, Mode, NodeAllocation, NodeSnapshot, RackSnapshot
from scheduler.models.layout import ClusterTopology, Layout
from scheduler.models.network.bandwidth import all_reduce_wire_s, bits_on_links, parameter_server_wire_s
from scheduler.models.network.flows import Flow, Links, groups, max_min_rates, rates_when_on, settle

GBIT = 1e9


def layout(*workers: int, servers: tuple[int, ...] = (), rack: tuple[int, ...] = (), uplink: float = 40e9) -> Layout:
    n = len(workers)
    racks = rack or (0,) * n
    return Layout(workers, servers or (0,) * n, (10e9,) * n, racks, (uplink,) * (max(racks) + 1))


def test_a_ring_sends_2x_n_minus_1_over_n_through_every_nic_and_every_uplink() -> None:
    """8 workers, X = 1 GB = 8 Gbit: 2 · 7/8 · 8 = 14 Gbit; at 10 Gb/s that is 1.4 s."""
    two_nodes = layout(4, 4)
    assert bits_on_links(two_nodes, Mode.ALL_REDUCE, parameters_bytes=1e9) == ([14e9, 14e9], [0.0])
    assert all_reduce_wire_s(two_nodes, parameters_bytes=1e9) == pytest.approx(1.4)
    two_racks = layout(4, 4, rack=(0, 1), uplink=5e9)
    assert bits_on_links(two_racks, Mode.ALL_REDUCE, parameters_bytes=1e9) == ([14e9, 14e9], [14e9, 14e9])
    assert all_reduce_wire_s(two_racks, parameters_bytes=1e9) == pytest.approx(2.8)


def test_a_gang_inside_one_node_sends_nothing_over_links() -> None:
    assert bits_on_links(layout(4), Mode.ALL_REDUCE, parameters_bytes=1e9) == ([0.0], [0.0])
    assert all_reduce_wire_s(layout(4), parameters_bytes=1e9) == pytest.approx(12e9 / 80e9)


def test_a_parameter_server_fills_its_own_nic_and_more_servers_share_the_load() -> None:
    """X = 1 GB, 4 workers on one node, 1 server on the other: 4 · 8 Gbit leave the one, 4 · 8 Gbit the other."""
    one = layout(4, 0, servers=(0, 1))
    assert bits_on_links(one, Mode.PARAMETER_SERVER, parameters_bytes=1e9) == ([32e9, 32e9], [0.0])
    assert parameter_server_wire_s(one, parameters_bytes=1e9) == pytest.approx(3.2)
    # 2 workers and 1 of 2 servers on each: half of each gradient leaves, half a model goes to the 2 workers there
    even = layout(2, 2, servers=(1, 1))
    assert bits_on_links(even, Mode.PARAMETER_SERVER, parameters_bytes=1e9)[0] == [16e9, 16e9]


def test_max_min_rates_of_the_textbook() -> None:
    """Links of 1 and 2: two flows share the first, the third crosses the second with one of them.

    The first link gives 0.5 to each; on the second the third flow takes what the first leaves: 1.5.
    """
    uses = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert max_min_rates(uses, np.array([1.0, 2.0])) == pytest.approx([0.5, 0.5, 1.5])
    assert max_min_rates(uses, np.array([1.0, 2.0]), weights_F=np.array([1.0, 3.0, 1.0])) == pytest.approx(
        [0.25, 0.25, 1.75]
    )
    assert np.isinf(max_min_rates(np.array([[0.0]]), np.array([1.0]))).all()


def test_a_flow_that_is_on_meets_others_as_often_as_they_are_on() -> None:
    """One link of 10: against a flow that is on for half of the time, a flow gets 10 / 1.5."""
    rates = rates_when_on(np.ones((2, 1)), np.array([10.0]), np.array([0.5, 1.0]))
    assert rates == pytest.approx([10 / 2.0, 10 / 1.5])


def test_two_gangs_on_one_link_settle_at_the_golden_ratio() -> None:
    """Each computes 1 s and sends 1 s worth of bits, nothing overlaps. Sending takes x = 1 + duty, duty = x / (1 + x):

    x² = x + 1, so a step takes 1 + 1.618 s; 2 s had they never met, 3 s if always.
    """
    flow = Flow((0,), (10e9,))
    settled = settle([flow, flow], np.array([10e9]), lambda wire_s: 1.0 + wire_s)
    assert settled.step_s_F == pytest.approx([2.618, 2.618], abs=2e-3)
    assert settled.low_s_F == pytest.approx([2.0, 2.0])
    assert settled.high_s_F == pytest.approx([3.0, 3.0])
    assert settled.error_F == pytest.approx([1 / np.sqrt(12) / 2.618] * 2, abs=1e-3)


def test_a_gang_that_hides_its_traffic_slows_others_less() -> None:
    """It computes 9 s for 1 s of sending: the other is hardly slowed."""
    flow = Flow((0,), (10e9,))
    compute = np.array([0.0, 9.0])
    settled = settle([flow, flow], np.array([10e9]), lambda wire_s: compute + wire_s)
    greedy_s, modest_s = settled.step_s_F
    assert greedy_s == pytest.approx(13 / 11, abs=1e-3)  # the other is on for 2 of its 11 s
    assert modest_s == pytest.approx(11.0, abs=0.01)  # the other never rests


def test_links_are_nics_uplinks_and_the_core() -> None:
    nodes = tuple(NodeSnapshot(f"n{i}", f"r{i // 2}", "v100", 4, 64, 1 << 36, 10e9) for i in range(4))
    racks = (RackSnapshot("r0", 5e9), RackSnapshot("r1", float("inf")))
    links = Links(nodes, racks, core_bps=20e9)
    assert links.capacity_L.tolist() == [10e9] * 4 + [5e9, 20e9]
    ring = GangAllocation(
        Mode.ALL_REDUCE, 8, 0, (NodeAllocation("n1", (0, 1, 2, 3)), NodeAllocation("n2", (0, 1, 2, 3)))
    )
    flow = links.flow(ring, ClusterTopology(nodes, racks).layout_of(ring), parameters_bytes=1e9)
    assert flow is not None
    assert dict(zip(flow.links, flow.bits, strict=True)) == {1: 14e9, 2: 14e9, 4: 14e9, 5: 28e9}
    inside = GangAllocation(Mode.ALL_REDUCE, 4, 0, (NodeAllocation("n1", (0, 1, 2, 3)),))
    assert links.flow(inside, ClusterTopology(nodes, racks).layout_of(inside), parameters_bytes=1e9) is None


def test_gangs_that_meet_through_others_are_one_group() -> None:
    flows = [Flow((0, 1), (1.0, 1.0)), Flow((5,), (1.0,)), Flow((1, 2), (1.0, 1.0)), Flow((2, 3), (1.0, 1.0))]
    assert groups(flows) == [[0, 2, 3], [1]]


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10_000))
def test_no_link_carries_more_than_it_can_and_everybody_has_a_full_link(n_flows: int, n_links: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    uses = rng.integers(0, 2, (n_flows, n_links)) * rng.uniform(0.2, 1.0, (n_flows, n_links))
    uses[np.arange(n_flows), rng.integers(0, n_links, n_flows)] = 1.0
    capacity, weights = rng.uniform(1.0, 20.0, n_links), rng.uniform(0.1, 3.0, n_flows)
    rates = max_min_rates(uses, capacity, weights_F=weights)
    load = (rates * weights) @ uses
    assert (load <= capacity * (1 + 1e-6)).all()
    is_full = load >= capacity * (1 - 1e-6)
    assert ((uses > 0) & is_full).any(axis=1).all()
    # and on one of its full links no gang is faster: that is max-min
    for f in range(n_flows):
        full = [link for link in range(n_links) if uses[f, link] > 0 and is_full[link]]
        assert any(rates[f] >= rates[uses[:, link] > 0].max() * (1 - 1e-6) for link in full)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10_000))
def test_a_settled_step_lies_between_never_meeting_and_always(n_flows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    flows = [Flow(tuple(sorted(set(rng.integers(0, 4, 2).tolist()))), (8e9,) * 2) for _ in range(n_flows)]
    flows = [Flow(f.links, (float(rng.uniform(1e9, 20e9)),) * len(f.links)) for f in flows]
    compute = rng.uniform(0.01, 2.0, n_flows)
    settled = settle(flows, np.full(4, 10e9), lambda wire_s: compute + wire_s)
    assert (settled.step_s_F >= settled.low_s_F * (1 - 1e-9)).all()
    assert (settled.step_s_F <= settled.high_s_F * (1 + 1e-9)).all()
