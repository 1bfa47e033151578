# SPDX-License-Identifier: Apache-2.0
"""The testbed as far as it needs no network namespaces."""

from __future__ import annotations

from pathlib import Path

from benchmarks.testbed import TRACE
from benchmarks.virtual_nodes import VirtualCluster, VirtualNode
from mlhub.backends.local import read_cluster


def test_the_local_backend_reads_the_virtual_clusters_file(tmp_path: Path) -> None:
    nodes = tuple(
        VirtualNode(f"node-{i}", f"rack-{i // 2}", f"10.77.0.{10 + i}", ("sh", "-c", 'echo 0 > x; exec "$@"', "sh"))
        for i in range(4)
    )
    cluster = VirtualCluster(nodes, "10.77.0.1", nic_bps=200e6, uplink_bps=100e6)
    (tmp_path / "cluster.yaml").write_text(cluster.as_yaml())
    found = read_cluster(tmp_path / "cluster.yaml")
    assert [(n.name, n.rack, n.n_slots, n.nic_bps, n.rack_uplink_bps) for n in found.nodes] == [
        (f"node-{i}", f"rack-{i // 2}", 1, 200e6, 100e6) for i in range(4)
    ]
    assert found.place("node-3").address == "10.77.0.13"
    assert found.place("node-3").enter == nodes[3].enter


def test_every_guess_of_the_trace_fits_the_testbed() -> None:
    assert all(1 <= submission.guess <= 4 for submission in TRACE)
    assert len({submission.name for submission in TRACE}) == len(TRACE)
