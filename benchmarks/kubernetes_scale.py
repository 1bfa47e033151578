# SPDX-License-Identifier: Apache-2.0
"""How fast the Kubernetes backend launches, observes and removes many gangs at once.

    python -m benchmarks.kubernetes_scale [--out benchmarks/results/kubernetes-scale.md]
    python -m benchmarks.kubernetes_scale --kubeconfig ~/.kube/config --out real.md

The API server is the tests' fake one, in a process of its own, over HTTP with watches, validation and admission; it
answers each request a given time later than it could. Gangs have two workers, whose pods are bound to their nodes and
never start a container. The fake is written in Python: it takes more time for a request than a real server does.
With a kubeconfig the API server is a real one, of a cluster for tests without an MLHub: nodes are made that no machine
is behind, and the backend works with the chart's account, rights and admission policies. All of it is removed again.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.kubernetes_real import cpu_of, real_backend
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.wire.launch import LaunchSpec, PodPlacement, PodRole, Resources
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.kubelet import node
from tests.backends.kubernetes.store import Object, Store, stamp
from tests.backends.specs import gang

SIZES = (10, 100, 500)
LATENCIES_MS = (0.0, 5.0)
GPUS = 8
N_PROJECTS = 10
N_OBSERVED = 5
SETTLED_S = 2.0
REAL = "## Against a real API server"  # written by hand, from what --kubeconfig gives


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/kubernetes-scale.md"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kubeconfig", help="of a real API server")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve is not None:
        _serve(asked.serve, n_nodes=asked.nodes, folder=asked.folder)
        return
    logging.disable(logging.WARNING)  # the server is ended before the backend's watches are
    lines = _real(asked) if asked.kubeconfig else _played(asked)
    kept = asked.out.read_text() if asked.out.exists() and not asked.kubeconfig else ""
    rest = kept.partition(REAL)[2]
    asked.out.write_text("\n".join(lines) + "\n" + (f"\n{REAL}{rest}" if rest else ""))


COLUMNS = [
    "parallelism",
    "gangs",
    "launched in",
    "CPU",
    "CPU of the server",
    "gangs/s",
    "observed in",
    "CPU",
    "removed in",
]


def _head(*columns: str) -> list[str]:
    return [
        f"{os.cpu_count()} CPUs; load average before: {os.getloadavg()[0]:.1f}.",
        "",
        f"| {' | '.join([*columns, *COLUMNS])} |",
        "|---" * (len(columns) + len(COLUMNS)) + "|",
    ]


def _played(asked: argparse.Namespace) -> list[str]:
    lines = [
        "# The Kubernetes backend with many gangs",
        "",
        "By `python -m benchmarks.kubernetes_scale`: gangs of two workers in ten projects, against the tests' API",
        "server in a process of its own on the same machine. Observed: the median of five rounds in which nothing",
        "changes. CPU: of the backend's process, and of the server's from its start to its end; the larger of the two",
        "is what remains of these times on a machine with two CPUs that does nothing else.",
        "",
        *_head("answers later by"),
    ]
    parallelism = KubernetesOptions().launch_parallelism
    cells = [(latency_ms, n_gangs, parallelism) for latency_ms in LATENCIES_MS for n_gangs in asked.sizes]
    for latency_ms, n_gangs, at_once in [*cells, (LATENCIES_MS[-1], asked.sizes[-1] // 5, 1)]:
        before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        with _server(latency_ms, _nodes_for(n_gangs)) as kubeconfig:
            options = KubernetesOptions(kubeconfig=kubeconfig, launch_parallelism=at_once)
            measured = _measured(KubernetesBackend.connect(options), n_gangs)
        server_cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s
        lines.append(f"| {latency_ms:.0f} ms | {at_once} | {measured.cells(f'{server_cpu_s:.1f} s')} |")
        print(lines[-1], flush=True)
    return lines


def _real(asked: argparse.Namespace) -> list[str]:
    """Server: what its processes on this machine took until the gangs were launched."""
    lines = _head()
    options = KubernetesOptions(kubeconfig=asked.kubeconfig)
    for n_gangs in asked.sizes:
        with real_backend(options, _nodes_for(n_gangs), gpus=GPUS) as backend:
            measured = _measured(backend, n_gangs)
        server_cpu = f"{measured.server_cpu_s:.1f} s" if measured.server_cpu_s else "?"
        lines.append(f"| {options.launch_parallelism} | {measured.cells(server_cpu)} |")
        print(lines[-1], flush=True)
    return lines


def _nodes_for(n_gangs: int) -> int:
    return -(-2 * n_gangs // GPUS)


@dataclass(frozen=True)
class GangTimes:
    n_gangs: int
    launched_s: float
    launch_cpu_s: float
    server_cpu_s: float
    rounds_s: list[float]
    observe_cpu_s: float
    removed_s: float  # each

    def cells(self, server_cpu: str) -> str:
        cells = [
            f"{self.n_gangs}",
            f"{self.launched_s:.2f} s",
            f"{self.launch_cpu_s:.2f} s",
            server_cpu,
            f"{self.n_gangs / self.launched_s:.0f}",
            f"{1000 * statistics.median(self.rounds_s):.0f} ms",
            f"{1000 * self.observe_cpu_s:.0f} ms",
            f"{1000 * self.removed_s:.0f} ms each",
        ]
        return " | ".join(cells)


def _measured(backend: KubernetesBackend, n_gangs: int) -> GangTimes:
    backend.inventory()
    backend.observe()
    specs = [_spec(number) for number in range(n_gangs)]
    began, cpu, server_cpu_s = time.perf_counter(), time.process_time(), cpu_of("kube-apiserver")
    failed = backend.launch_all(specs)
    launched_s, launch_cpu_s = time.perf_counter() - began, time.process_time() - cpu
    server_cpu_s = cpu_of("kube-apiserver") - server_cpu_s
    assert not failed, next(iter(failed.values()))
    time.sleep(SETTLED_S)  # what the launch changed has been watched
    cpu = time.process_time()
    rounds = [_timed(backend) for _ in range(N_OBSERVED)]
    observe_cpu_s = (time.process_time() - cpu) / N_OBSERVED
    assert len(backend.observe()) == n_gangs
    began = time.perf_counter()
    assert not backend.stop_all({spec.attempt_id: 0.0 for spec in specs[: max(1, n_gangs // 10)]})
    removed_s = (time.perf_counter() - began) / max(1, n_gangs // 10)
    backend.close()
    return GangTimes(n_gangs, launched_s, launch_cpu_s, server_cpu_s, rounds, observe_cpu_s, removed_s)


def _timed(backend: KubernetesBackend) -> float:
    began = time.perf_counter()
    backend.observe()
    return time.perf_counter() - began


def _spec(number: int) -> LaunchSpec:
    """Two workers side by side; which project it is of goes round."""
    first = 2 * number
    pods = tuple(
        PodPlacement(PodRole.WORKER, i, f"node-{gpu // GPUS}", Resources(1, 1, 2**30), slots=(gpu % GPUS,))
        for i, gpu in enumerate((first, first + 1))
    )
    project = f"project-{number % N_PROJECTS}"
    labels = {"organisation": "bench", "project": project, "project_id": project}
    return replace(gang(), pods=pods, labels=labels, api_url="https://mlhub.example.org")


@contextmanager
def _server(latency_ms: float, n_nodes: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        command: Sequence[str] = [
            sys.executable, "-m", "benchmarks.kubernetes_scale", "--serve", str(latency_ms), "--nodes", str(n_nodes),
            "--folder", folder,
        ]  # fmt: skip
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait()


def _serve(latency_ms: float, *, n_nodes: int, folder: Path) -> None:
    """Until its input is closed."""
    server = ApiServer()
    for number in range(n_nodes):
        server.store.create("nodes", "", node(f"node-{number}", gpus=GPUS))
    server.store.on_pod = lambda pod: _bind(server.store, pod)
    if latency_ms:
        server.slow(latency_ms / 1000, times=10**9)
    print(server.kubeconfig(folder), flush=True)
    sys.stdin.read()


def _bind(store: Store, pod: Object) -> None:
    """What a cluster's scheduler does with a released pod; its kubelet is busy with the image."""
    if pod["spec"].get("schedulingGates") or pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    wanted = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp()}
    change = {"spec": {"nodeName": wanted}, "status": {"conditions": [scheduled]}}
    store.patch("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], change)


if __name__ == "__main__":
    main()
