# SPDX-License-Identifier: Apache-2.0
"""How jobs share links: max-min fair rates of flows that are on only part of the time. Bandwidths in bit/s.

Axes: F flows (one for each job that leaves its node), L links. A flow's use of a link is the part of its bytes that
cross it, so that its rate is one number: bits of its synchronisation a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import GangAllocation
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.layout import Layout
from scheduler.models.network.bandwidth import bits_on_links

Stepping = Callable[[Floats], Floats]  # wire seconds of every flow, shape (F,) -> step seconds, shape (F,)

_EVEN = 1e-9  # links that fill up at the same level
_STILL = 1e-3  # relative change of a duty cycle at which it has settled
MOST_TURNS = 40


@dataclass(frozen=True)
class Flow:
    """Describes what one synchronisation of a job sends: bits over links.

    links, bits: parallel; of the busier direction.
    """

    links: tuple[int, ...]
    bits: tuple[float, ...]


class Links:
    """Describes the tree of a cluster: a NIC per node, an uplink per rack, one core.

    Links without a limit are left out.

    core_bps: what all racks can send each other together; infinite for a core that does not block.
    """

    def __init__(
        self, nodes: Iterable[NodeSnapshot], racks: Iterable[RackSnapshot], *, core_bps: float = float("inf")
    ) -> None:
        self.rack_of = {node.name: node.rack for node in nodes}
        named = {("nic", node.name): node.nic_bps for node in nodes}
        named |= {("uplink", rack.name): rack.uplink_bps for rack in racks}
        named |= {("core", ""): core_bps}
        kept = {key: bps for key, bps in named.items() if np.isfinite(bps)}
        self._index = {key: i for i, key in enumerate(kept)}
        self.capacity_L = np.array(list(kept.values()), dtype=np.float64)

    def index(self, kind: str, name: str = "") -> int | None:
        """Returns the index of a NIC (of a node), an uplink (of a rack) or the core; None if it has no limit or is not
        there.
        """
        return self._index.get((kind, name))

    def flow(self, allocation: GangAllocation, layout: Layout, *, parameters_bytes: float) -> Flow | None:
        """Returns what the gang sends over these links at each synchronisation; None if nothing leaves its node."""
        if layout.n_nodes < 2 or parameters_bytes <= 0:
            return None
        nic_bits, uplink_bits = bits_on_links(layout, allocation.mode, parameters_bytes=parameters_bytes)
        crossing: dict[int, float] = {}
        for share, bits in zip(allocation.shares, nic_bits, strict=True):
            if bits > 0 and (link := self.index("nic", share.node)) is not None:
                crossing[link] = crossing.get(link, 0.0) + bits
        racks = list(dict.fromkeys(self.rack_of.get(share.node, "") for share in allocation.shares))
        for rack, bits in zip(racks, uplink_bits, strict=True):
            if bits > 0 and (link := self.index("uplink", rack)) is not None:
                crossing[link] = crossing.get(link, 0.0) + bits
        if (core := self.index("core")) is not None and sum(uplink_bits) > 0:
            crossing[core] = float(sum(uplink_bits))
        return Flow(tuple(crossing), tuple(crossing.values())) if crossing else None


def max_min_rates(uses_FL: Floats, capacity_L: Floats, *, weights_F: Floats | None = None) -> Floats:
    """Returns weighted max-min fair rates, shape (F,), in bits per second: all rise together; a flow on a full link
    stops rising; the others go on.

    uses_FL: the part of a flow's rate that crosses each link, >= 0. weights_F: how many flows of its kind there are,
    None = 1; the rate returned is that of one of them. A flow that uses no link has an infinite rate.
    Source: Bertsekas and Gallager, Data Networks, sec. 6.5.2 (progressive filling).
    """
    weights = np.ones(len(uses_FL)) if weights_F is None else weights_F
    rates_F: Floats = _fill(uses_FL, capacity_L, weights[None, :])[0]
    return rates_F


def rates_when_on(uses_FL: Floats, capacity_L: Floats, duty_F: Floats) -> Floats:
    """Returns each flow's rate while it is on, shape (F,), where the others are on for duty_F of the time, in [0, 1].

    The max-min rate of a flow of weight 1 among others with their duty cycles as weights: F problems, solved as one.
    """
    weights_FF = np.tile(duty_F, (len(duty_F), 1))
    np.fill_diagonal(weights_FF, 1.0)
    return np.diagonal(_fill(uses_FL, capacity_L, weights_FF, only_own=True)).copy()


@dataclass(frozen=True)
class FlowRates:
    """Holds seconds, each of shape (F,). wire_s_F: what each flow's bits take; step_s_F: its step.

    low_s_F, high_s_F: its step if the others never send, or always, while it sends.
    """

    wire_s_F: Floats  # noqa: N815
    step_s_F: Floats  # noqa: N815
    low_s_F: Floats  # noqa: N815
    highest: Callable[[], Floats]  # worked out when it is asked for

    @cached_property
    def high_s_F(self) -> Floats:  # noqa: N802
        """Returns the seconds of each step if all others always send, shape (F,)."""
        return np.maximum(self.highest(), self.step_s_F)

    @property
    def error_F(self) -> Floats:  # noqa: N802
        """Returns the relative standard deviation of each step, shape (F,), for want of knowing the phases: uniform
        between low and high.
        """
        spread_F: Floats = (self.high_s_F - self.low_s_F) / np.sqrt(12.0) / np.maximum(self.step_s_F, 1e-12)
        return spread_F


def settle(flows: Sequence[Flow], capacity_L: Floats, stepping: Stepping) -> FlowRates:
    """Returns the fixed point between demand and speed: a longer wire time is a higher duty cycle, which slows the
    others.

    1. rates while on, from the duty cycles; 2. wire seconds and steps from the rates; 3. duty = wire / step, half of
    the way at each turn, until nothing moves by more than 0.1 %.
    """
    links = sorted({link for flow in flows for link in flow.links})
    column = {link: i for i, link in enumerate(links)}
    bits_FL = np.zeros((len(flows), len(links)))
    for row, flow in enumerate(flows):
        for link, bits in zip(flow.links, flow.bits, strict=True):
            bits_FL[row, column[link]] = bits
    capacity = capacity_L[links]
    unit_F = bits_FL.max(axis=1)
    uses_FL = bits_FL / unit_F[:, None]
    alone_s = (bits_FL / capacity).max(axis=1)
    low_s = stepping(alone_s)
    duty = np.minimum(1.0, alone_s / np.maximum(low_s, 1e-12))
    wire_s, step_s = alone_s, low_s
    for _ in range(MOST_TURNS):
        wire_s = unit_F / rates_when_on(uses_FL, capacity, duty)
        step_s = stepping(wire_s)
        new = np.minimum(1.0, wire_s / np.maximum(step_s, 1e-12))
        if np.all(np.abs(new - duty) <= _STILL * np.maximum(duty, _STILL)):
            break
        duty = 0.5 * (duty + new)
    always = np.ones(len(flows))
    return FlowRates(wire_s, step_s, low_s, lambda: stepping(unit_F / rates_when_on(uses_FL, capacity, always)))


def groups(flows: Sequence[Flow]) -> list[list[int]]:
    """Returns the flows that meet each other, directly or through others, by position; each group ascending."""
    first_on: dict[int, int] = {}
    parent = list(range(len(flows)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, flow in enumerate(flows):
        for link in flow.links:
            parent[root(i)] = root(first_on.setdefault(link, i))
    found: dict[int, list[int]] = {}
    for i in range(len(flows)):
        found.setdefault(root(i), []).append(i)
    return list(found.values())


def _fill(uses_FL: Floats, capacity_L: Floats, weights_PF: Floats, *, only_own: bool = False) -> Floats:
    """Progressive filling of P problems with the same flows and links at once; rates of shape (P, F).

    only_own: problem p is done when flow p has its rate; the other rates are then not to be used.
    """
    n_problems, n_flows = weights_PF.shape
    rates = np.full((n_problems, n_flows), np.inf)
    left = np.tile(capacity_L.astype(np.float64), (n_problems, 1))
    crosses = uses_FL > 0
    crosses_back = crosses.T.astype(np.float64)
    active = np.tile(crosses.any(axis=1), (n_problems, 1))
    while active.any():
        demand = (weights_PF * active) @ uses_FL
        level = np.divide(left, demand, out=np.full_like(left, np.inf), where=demand > 0)
        lowest = level.min(axis=1)
        full = level <= lowest[:, None] * (1 + _EVEN)  # where all weights are 0, nothing fills any link: all of them
        stopped = ((full @ crosses_back) > 0) & active
        rates = np.where(stopped, lowest[:, None], rates)
        left -= np.where(stopped, weights_PF * np.where(np.isfinite(lowest), lowest, 0.0)[:, None], 0.0) @ uses_FL
        np.maximum(left, 0.0, out=left)
        active &= ~stopped
        if only_own:
            active &= np.diagonal(active)[:, None]
    return rates
