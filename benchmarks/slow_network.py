# SPDX-License-Identifier: Apache-2.0
"""Speed over workers (rises, then falls), over servers (rises, then levels), and what streaming saves, on slow links.

    python -m benchmarks.slow_network [--out FILE]

The runtime's own parameter server and gloo's all-reduce, training a real network on virtual nodes: network namespaces
with limited NICs and CPU quotas. Without the right to make them it reports that and ends with status 0.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.virtual_nodes import NodeSpeed, VirtualCluster, VirtualNode, virtual_cluster, why_not

N_WORKERS, N_SERVERS = 8, 4
NIC_BPS = 200e6
CPUS = 0.15
GLOBAL_BATCH, WIDTH = 4096, 512  # 0.67 M parameters
N_STEPS = 5
LINK_BPS, LARGE = 200e6, 10_000_000
STARTED_S = 300.0


class NodeProcess:
    """A process on a virtual node that carries out orders, one line of JSON at a time (slow_network_node.py)."""

    def __init__(self, node: VirtualNode) -> None:
        self.node = node
        self._process = subprocess.Popen(
            [*node.enter, sys.executable, "-m", "benchmarks.slow_network_node", node.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Raises RuntimeError when the process died."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process on {self.node.name} ended with status {self._process.wait(30)}")
        return json.loads(line)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def node_processes(nodes: Sequence[VirtualNode]) -> Iterator[list[NodeProcess]]:
    found = [NodeProcess(node) for node in nodes]
    try:
        for process in found:
            process.answer()  # it has imported what it needs
        yield found
    finally:
        for process in found:
            process.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/slow-network.md"))
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all is removed
    if reason := why_not():
        print(f"Slow networks were not emulated: {reason}.")
        return 0
    console = Console(highlight=False)
    with virtual_cluster(racks=[[NodeSpeed("cpu-slot", 2.0)] * 2], nic_bps=LINK_BPS, uplink_bps=1e10) as cluster:
        streaming = _streaming(cluster, console)
    nodes = [NodeSpeed("cpu-slot", CPUS)] * (N_WORKERS + N_SERVERS)
    with virtual_cluster(racks=[nodes], nic_bps=NIC_BPS, uplink_bps=1e10) as cluster:
        curves = _curves(cluster, console)
    _draw(curves, arguments.out.with_suffix(".png"))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join([*_head(), *streaming, *_tables(curves), *_picture(arguments.out)]) + "\n")
    console.print(f"written to {arguments.out}")
    return 0


def _head() -> list[str]:
    return ["# Training over slow links", "", "By `python -m benchmarks.slow_network`, as root, on virtual nodes.", ""]


def _streaming(cluster: VirtualCluster, console: Console) -> list[str]:
    with node_processes(cluster.nodes) as (server, worker):
        server.send(do="serve", index=0, n_servers=1, n_workers=1, port=29_500)
        worker.send(do="exchange", server=f"{cluster.nodes[0].address}:29500", n=LARGE, repeats=5)
        times = worker.answer()
        server.answer()
    at_once, separate = statistics.median(times["at_once"]), statistics.median(times["separate"])
    rows = [
        f"## {LARGE / 1e6:g} M parameters to one server and back, over a link of {LINK_BPS / 1e6:g} Mbit/s",
        "",
        "| push, update and pull | seconds | ratio |",
        "|---|---|---|",
        f"| push, then pull | {separate:.2f} | 1 |",
        f"| streamed: received, applied and sent back piece by piece | {at_once:.2f} | {at_once / separate:.2f} |",
        "",
    ]
    console.print("\n".join(rows))
    return rows


def _curves(cluster: VirtualCluster, console: Console) -> dict[str, dict[int, float]]:
    """Examples a second, by name of the curve and number of workers or servers."""
    found: dict[str, dict[int, float]] = {"one server": {}, "all-reduce": {}, "four workers": {}}
    with node_processes(cluster.nodes) as everybody:
        workers, servers = everybody[:N_WORKERS], everybody[N_WORKERS:]
        port = 29_600
        for n in (1, 2, 3, 4, 6, 8):
            for name, p in (("one server", 1), ("all-reduce", 0)):
                port += 10
                found[name][n] = _speed(workers[:n], servers[:p], port)
                console.print(f"{name}: {n} workers, {found[name][n]:.0f} examples/s")
        for p in range(1, N_SERVERS + 1):
            port += 10
            found["four workers"][p] = _speed(workers[:4], servers[:p], port)
            console.print(f"four workers: {p} servers, {found['four workers'][p]:.0f} examples/s")
    return found


def _speed(workers: Sequence[NodeProcess], servers: Sequence[NodeProcess], port: int) -> float:
    gang = {"n_workers": len(workers), "n_servers": len(servers), "port": port}
    for index, server in enumerate(servers):
        server.send(do="serve", index=index, **gang)
    for rank, worker in enumerate(workers):
        worker.send(
            do="train",
            rank=rank,
            master=workers[0].node.address,
            servers=[f"{server.node.address}:{port}" for server in servers],
            batch_size=GLOBAL_BATCH // len(workers),
            width=WIDTH,
            n_steps=N_STEPS,
            **gang,
        )
    step_s = max(statistics.median(worker.answer()) for worker in workers)
    for server in servers:
        server.answer()
    return GLOBAL_BATCH / step_s


def _tables(curves: Mapping[str, Mapping[int, float]]) -> list[str]:
    over_workers = [
        f"| {n} | {curves['one server'][n]:.0f} | {curves['all-reduce'][n]:.0f} |" for n in curves["one server"]
    ]
    over_servers = [f"| {p} | {speed:.0f} |" for p, speed in curves["four workers"].items()]
    return [
        f"## Speed over workers and over servers: NICs of {NIC_BPS / 1e6:g} Mbit/s, {CPUS:g} CPUs a node",
        "",
        f"A perceptron of 0.67 M parameters under BSP, {GLOBAL_BATCH} examples a step over all workers; every worker "
        "and server on a node of its own. Examples a second, from the median of the slowest worker's steps.",
        "",
        "| workers | one server | all-reduce |",
        "|---|---|---|",
        *over_workers,
        "",
        "| servers (four workers) | examples/s |",
        "|---|---|",
        *over_servers,
    ]


def _picture(out: Path) -> list[str]:
    return ["", f"![Speed over workers and over servers]({out.with_suffix('.png').name})"]


def _draw(curves: Mapping[str, Mapping[int, float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for name in ("one server", "all-reduce"):
        left.plot(list(curves[name]), list(curves[name].values()), marker="o", label=name)
    left.set_xlabel("workers")
    left.set_ylabel("examples a second")
    left.legend()
    right.plot(list(curves["four workers"]), list(curves["four workers"].values()), marker="o")
    right.set_xlabel("servers (four workers)")
    right.set_xticks(list(curves["four workers"]))
    left.set_ylim(bottom=0)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.exit(main())
