"""Seconds that one synchronisation's bytes need on the wires of a layout, for both modes. No latency, no computation.

Full-duplex links; a gang alone on its links. A ring crosses every node's NIC and every rack's uplink once each way.
"""

from __future__ import annotations

from scheduler.models.layout import Layout

INTRA_NODE_BPS = 80e9  # GPU to GPU inside a node: about PCIe 3.0 x16
SERVER_BPS = 16e9  # what one parameter server sums up: memory-bound, one core


def all_reduce_wire_s(layout: Layout, *, parameters_bytes: int) -> float:
    """2 (n - 1) / n · X over the narrowest link of the ring.

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms (2009).
    """
    n = layout.n_workers
    if n <= 1:
        return 0.0
    bits = 2 * (n - 1) / n * parameters_bytes * 8
    narrowest = INTRA_NODE_BPS
    if layout.n_nodes > 1:
        narrowest = min(narrowest, *(nic for nic, k in zip(layout.nic_bps, layout.workers, strict=True) if k))
    if layout.n_racks > 1:
        narrowest = min(narrowest, *(layout.uplink_bps[rack] for rack in set(layout.rack)))
    return bits / narrowest


def parameter_server_wire_s(layout: Layout, *, parameters_bytes: int) -> float:
    """Every worker pushes X and pulls X, sharded over p servers: the fullest NIC, uplink or server sets the time.

    A node with a of w workers and s of p servers sends a·X·(1 - s/p) in gradients and (s/p)·X·(w - a) in parameters.
    """
    w, p = layout.n_workers, layout.n_servers
    if p == 0:
        return 0.0
    bits = parameters_bytes * 8.0
    worst = bits * w * max(layout.servers) / p / INTRA_NODE_BPS
    worst = max(worst, bits * w / p / SERVER_BPS)
    if layout.n_nodes > 1:
        for a, s, nic_bps in zip(layout.workers, layout.servers, layout.nic_bps, strict=True):
            worst = max(worst, bits * (a * (1 - s / p) + s / p * (w - a)) / nic_bps)
    if layout.n_racks > 1:
        for rack in set(layout.rack):
            inside = [i for i, r in enumerate(layout.rack) if r == rack]
            a = sum(layout.workers[i] for i in inside)
            s = sum(layout.servers[i] for i in inside)
            worst = max(worst, bits * (a * (1 - s / p) + s / p * (w - a)) / layout.uplink_bps[rack])
    return worst
