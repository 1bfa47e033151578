# SPDX-License-Identifier: Apache-2.0
"""Gangs that share links: all-reduces on virtual nodes, alone and together, compared with the bandwidth model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from rich.console import Console

from benchmarks.virtual_nodes import VirtualCluster
from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.layout import ClusterTopology
from scheduler.models.network.flows import Links, settle

N_BYTES = 4_000_000
SECONDS = 6.0
GANG = """
import json, os, sys, time
import torch, torch.distributed as dist
n_bytes, seconds = int(sys.argv[1]), float(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo")
x = torch.ones(n_bytes // 4)
dist.all_reduce(x); dist.barrier()
began, times = time.monotonic(), []
flag = torch.zeros(1)
while flag.item() == 0:
    at = time.monotonic()
    dist.all_reduce(x)
    times.append(time.monotonic() - at)
    x.fill_(1.0)
    flag.fill_(float(dist.get_rank() == 0 and time.monotonic() - began > seconds))
    dist.all_reduce(flag)
if dist.get_rank() == 0:
    times.sort()
    print(json.dumps(times[len(times) // 2]))
"""
CASES: Sequence[tuple[str, Sequence[Sequence[int]]]] = (
    ("one gang, both racks", ((0, 2),)),
    ("two gangs, both cross the uplinks", ((0, 2), (1, 3))),
    ("two gangs, each within its rack", ((0, 1), (2, 3))),
    ("one gang of four", ((0, 1, 2, 3),)),
)


def contention(cluster: VirtualCluster, console: Console) -> list[str]:
    """Lines of a table: seconds of an all-reduce of 4 MB, measured and predicted."""
    rows = [
        f"## Gangs on shared links: an all-reduce of {N_BYTES / 1e6:g} MB",
        "",
        "| gangs | measured, s | predicted, s | measured / predicted |",
        "|---|---|---|---|",
    ]
    for number, (name, gangs) in enumerate(CASES):
        measured_s = _measure(cluster, gangs, port=29_400 + 10 * number)
        predicted_s = _predicted_s(cluster, gangs)
        mean_s, expected_s = sum(measured_s) / len(gangs), sum(predicted_s) / len(gangs)
        rows.append(f"| {name} | {mean_s:.3f} | {expected_s:.3f} | {mean_s / expected_s:.2f} |")
        console.print(rows[-1])
    return [*rows, ""]


def _measure(cluster: VirtualCluster, gangs: Sequence[Sequence[int]], *, port: int) -> list[float]:
    """Median seconds of an all-reduce by gang, all gangs at once."""
    first: list[subprocess.Popen[str]] = []
    others: list[subprocess.Popen[str]] = []
    for i, gang in enumerate(gangs):
        master = cluster.nodes[gang[0]].address
        for rank, node in enumerate(gang):
            variables = {
                "MASTER_ADDR": master, "MASTER_PORT": str(port + i), "RANK": str(rank), "WORLD_SIZE": str(len(gang)),
                "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1",
            }  # fmt: skip
            words = [f"{key}={value}" for key, value in variables.items()]
            process = subprocess.Popen(
                [*cluster.nodes[node].enter, "env", *words, sys.executable, "-c", GANG, str(N_BYTES), str(SECONDS)],
                stdout=subprocess.PIPE,
                text=True,
            )
            (others if rank else first).append(process)
    found = [float(json.loads(process.communicate(timeout=120)[0])) for process in first]
    for process in others:
        process.communicate(timeout=30)
    return found


def _predicted_s(cluster: VirtualCluster, gangs: Sequence[Sequence[int]]) -> list[float]:
    """Seconds by gang: rings that share links max-min fair, all always on, for they do nothing else."""
    nodes = [NodeSnapshot(n.name, n.rack, "slot", 1, 1.0, 2**30, cluster.nic_bps) for n in cluster.nodes]
    racks = [RackSnapshot(name, cluster.uplink_bps) for name in dict.fromkeys(n.rack for n in cluster.nodes)]
    links, topology = Links(nodes, racks), ClusterTopology(nodes, racks)
    flows = []
    for gang in gangs:
        shares = tuple(NodeAllocation(cluster.nodes[i].name, (0,)) for i in gang)
        ring = GangAllocation(Mode.ALL_REDUCE, len(gang), 0, shares)
        flow = links.flow(ring, topology.layout_of(ring), parameters_bytes=N_BYTES)
        assert flow is not None
        flows.append(flow)
    return [float(s) for s in settle(flows, links.capacity_L, lambda wire_s_F: wire_s_F).wire_s_F]
