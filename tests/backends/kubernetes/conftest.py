# SPDX-License-Identifier: Apache-2.0
"""A fake API server with two nodes of four GPUs, and a backend on it, for tests of the Kubernetes backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.kubernetes.options import KubernetesOptions
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.kubelet import Kubelet, node


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are repeated as often as ever, after a fifth of a second at most."""
    for module in ("api", "mirror"):
        monkeypatch.setattr(f"mlhub.backends.kubernetes.client.{module}.LONGEST_PAUSE_S", 0.2)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    found = ApiServer(rules=RULES)
    for name in ("node-1", "node-2"):
        found.store.create("nodes", "", node(name))
    yield found
    found.stop()


@pytest.fixture
def kubelet(server: ApiServer) -> Kubelet:
    return Kubelet(server.store)


@pytest.fixture
def connect(server: ApiServer, tmp_path: Path) -> Iterator[Callable[..., KubernetesBackend]]:
    """Makes backends on the server; several are several replicas of the control loop."""
    made: list[KubernetesBackend] = []

    def one(**options: float) -> KubernetesBackend:
        with_patience = {"request_timeout_s": 60.0} | options  # of a busy machine
        chosen = KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path), **with_patience)  # type: ignore[arg-type]
        made.append(KubernetesBackend.connect(chosen))
        return made[-1]

    yield one
    for backend in made:
        backend.close()


@pytest.fixture
def backend(connect: Callable[..., KubernetesBackend], kubelet: Kubelet) -> KubernetesBackend:
    return connect(unschedulable_after_s=0.0)
