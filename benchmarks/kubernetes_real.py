# SPDX-License-Identifier: Apache-2.0
"""A real API server for benchmarks/kubernetes_scale.py: nodes of paper, and the chart's account to work with."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError
from mlhub.backends.kubernetes.options import KubernetesOptions
from tests.backends.kubernetes.kubelet import node
from tests.backends.kubernetes.real_access import access_of_the_chart
from tests.backends.kubernetes.store import Object, stamp

BEAT_EVERY_S = 15.0
AT_ONCE = 8


@contextlib.contextmanager
def real_backend(options: KubernetesOptions, n_nodes: int, *, gpus: int) -> Iterator[KubernetesBackend]:
    admin = KubernetesApi(lambda: connection(options), timeout_s=30.0)
    wanted = [node(f"node-{number}", gpus=gpus) for number in range(n_nodes)]
    with access_of_the_chart(admin, options) as token, _ready(admin, wanted), _pods_removed(admin):
        api = KubernetesApi(
            lambda: connection(options, token=token),
            timeout_s=options.request_timeout_s,
            parallelism=options.launch_parallelism,
        )
        yield KubernetesBackend(api, options)


@contextlib.contextmanager
def _ready(admin: KubernetesApi, wanted: list[Object]) -> Iterator[None]:
    """Nodes that report as ready until they are removed."""
    is_over = threading.Event()

    def report_ready(one: Object) -> None:
        conditions = [{**one["status"]["conditions"][0], "lastHeartbeatTime": stamp(), "reason": "Played"}]
        path = f"{paths.NODES}/{one['metadata']['name']}"
        with contextlib.suppress(ApiError):
            admin.patch(f"{path}/status", {"status": {**one["status"], "conditions": conditions}})
            if any(taint["key"].endswith("not-ready") for taint in admin.get(path)["spec"].get("taints") or []):
                admin.patch(path, {"spec": {"taints": None}})

    def report_until_over() -> None:
        while not is_over.wait(BEAT_EVERY_S):
            list(pool.map(report_ready, wanted))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one in wanted:
            with contextlib.suppress(KubeConflictError):  # of a run that was killed
                admin.create(paths.NODES, {**one, "status": {}})
        list(pool.map(report_ready, wanted))
        reporting = threading.Thread(target=report_until_over, daemon=True)
        reporting.start()
        try:
            yield
        finally:
            is_over.set()
            reporting.join()
            list(pool.map(lambda one: admin.delete(f"{paths.NODES}/{one['metadata']['name']}"), wanted))


@contextlib.contextmanager
def _pods_removed(admin: KubernetesApi) -> Iterator[None]:
    """Bound pods wait for their nodes' kubelets, which are not there."""
    try:
        yield
    finally:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda pod: _remove(admin, pod), admin.list(paths.PODS, labelSelector=names.ATTEMPT)[0]))


def _remove(admin: KubernetesApi, pod: Object) -> None:
    path = paths.of(pod, "Pod")
    with contextlib.suppress(ApiError):
        admin.patch(path, {"metadata": {"finalizers": None}})
        admin.delete(path, grace_s=0)


def cpu_of(program: str) -> float:
    """Seconds of processor time of all processes of that name on this machine. 0 where there are none."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            if name == program[:15]:
                user, system = rest.split()[11:13]
                total += int(user) + int(system)
    return total / os.sysconf("SC_CLK_TCK")
