# SPDX-License-Identifier: Apache-2.0
"""Bits that one synchronisation sends over each link of a layout, and the seconds they need where the gang is alone.

Full-duplex links: the busier direction counts. A ring crosses every node's NIC and every rack's uplink once each way.
No latency, no computation; how several gangs share links is in flows.py.
"""

from __future__ import annotations

from scheduler.api.snapshot import Mode
from scheduler.models.layout import Layout

INTRA_NODE_BPS = 80e9  # GPU to GPU inside a node: about PCIe 3.0 x16
SERVER_BPS = 16e9  # what one parameter server sums up: memory-bound, one core


def all_reduce_wire_s(layout: Layout, *, parameters_bytes: float) -> float:
    """Returns the seconds of 2 (n - 1) / n · X bytes over the narrowest link of the ring of n workers.

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms (2009).
    """
    bits = _ring_bits(layout.n_workers, parameters_bytes)
    return max(bits / INTRA_NODE_BPS, _on_links_s(layout, Mode.ALL_REDUCE, parameters_bytes))


def parameter_server_wire_s(layout: Layout, *, parameters_bytes: float) -> float:
    """Returns the seconds in which every worker pushes X bytes and pulls X bytes over p servers: the fullest NIC,
    uplink or server sets the time.
    """
    w, p = layout.n_workers, layout.n_servers
    if p == 0:
        return 0.0
    bits = parameters_bytes * 8.0
    inside_s = bits * w / p * max(max(layout.servers) / INTRA_NODE_BPS, 1 / SERVER_BPS)
    return max(inside_s, _on_links_s(layout, Mode.PARAMETER_SERVER, parameters_bytes))


def bits_on_links(layout: Layout, mode: Mode, *, parameters_bytes: float) -> tuple[list[float], list[float]]:
    """Returns the bits of one synchronisation on each node's NIC, and on each rack's uplink, in the layout's order.

    A ring sends 2 (n - 1) / n · X over each. Of w workers and p servers, a node or rack with a and s of them sends
    a·X·(1 - s/p) in gradients and (s/p)·X·(w - a) in parameters, and receives as much. 0 where nothing leaves.
    """
    w, p = layout.n_workers, layout.n_servers
    n_racks = len(layout.uplink_bps)
    if layout.n_nodes < 2:
        return [0.0] * layout.n_nodes, [0.0] * n_racks
    if mode is Mode.ALL_REDUCE:
        bits = _ring_bits(w, parameters_bytes)
        crosses = layout.n_racks > 1
        return [bits if a else 0.0 for a in layout.workers], [bits if crosses else 0.0] * n_racks
    if p == 0:
        return [0.0] * layout.n_nodes, [0.0] * n_racks
    bits = parameters_bytes * 8.0
    pairs = list(zip(layout.workers, layout.servers, strict=True))
    inside = [(0, 0)] * n_racks
    for rack, (a, s) in zip(layout.rack, pairs, strict=True):
        inside[rack] = inside[rack][0] + a, inside[rack][1] + s

    def sent(a: int, s: int) -> float:
        return bits * (a * (1 - s / p) + s / p * (w - a))

    return [sent(a, s) for a, s in pairs], [sent(a, s) if layout.n_racks > 1 else 0.0 for a, s in inside]


def _ring_bits(n_workers: int, parameters_bytes: float) -> float:
    return 2 * (n_workers - 1) / n_workers * parameters_bytes * 8 if n_workers > 1 else 0.0


def _on_links_s(layout: Layout, mode: Mode, parameters_bytes: float) -> float:
    nic_bits, uplink_bits = bits_on_links(layout, mode, parameters_bytes=parameters_bytes)
    nics = (bits / bps for bits, bps in zip(nic_bits, layout.nic_bps, strict=True))
    uplinks = (bits / bps for bits, bps in zip(uplink_bits, layout.uplink_bps, strict=True))
    return max(0.0, *nics, *uplinks)
