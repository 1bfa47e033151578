# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice of a backend, and of the whole control loop over a Kubernetes API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.control.pods.backends import configured_backend
from mlhub.control.rounds.loop import Loop
from mlhub.jobs import actions
from mlhub.jobs.models import Allocation, Job
from mlhub.tenants.actions import set_quota
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import ours, pods, wait
from tests.backends.kubernetes.kubelet import Kubelet, node
from tests.cast import make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Iterator[ApiServer]:
    found = ApiServer(rules=RULES)
    for name in ("node-1", "node-2"):
        found.store.create("nodes", "", node(name))
    yield found
    found.stop()


@pytest.fixture
def backend(server: ApiServer, settings: Any, tmp_path: Path) -> Iterator[KubernetesBackend]:
    """As the settings name it."""
    settings.BACKEND = "kubernetes"
    settings.KUBERNETES = {"kubeconfig": server.kubeconfig(tmp_path), "request_timeout_s": "2"}
    found = configured_backend()
    assert isinstance(found, KubernetesBackend)
    yield found
    found.close()


def after_rounds(loop: Loop, of: Job, state: str) -> bool:
    def look() -> bool:
        loop.round()
        of.refresh_from_db()
        return str(of.state) == state

    return bool(wait(look))


def test_an_unknown_backend_is_reported_with_the_known_ones(settings: Any) -> None:
    settings.BACKEND = "nomad"
    with pytest.raises(ImproperlyConfigured, match="known: local, agents, kubernetes"):
        configured_backend()


@pytest.mark.slow
def test_a_job_runs_on_kubernetes_and_nothing_of_it_stays(server: ApiServer, backend: KubernetesBackend) -> None:
    kubelet, cast = Kubelet(server.store), make_cast()
    set_quota(cast.a, max_gpus=3, actor=cast.root)
    loop, alone = Loop(backend), job(cast.project_a, cast.bob)
    after_rounds(loop, alone, "running")
    [quota] = [o for (kind, _, _), o in server.store.objects.items() if kind == "resourcequotas"]
    assert quota["spec"]["hard"]["requests.nvidia.com/gpu"] == "3"
    assert 1 <= len(pods(server)) <= 3
    for pod in pods(server):
        kubelet.end(pod["metadata"]["namespace"], pod["metadata"]["name"], 0)
    after_rounds(loop, alone, "succeeded")
    assert not Allocation.objects.filter(released_at=None).exists()
    assert ours(server) == []


def test_a_cancelled_job_leaves_the_cluster(server: ApiServer, backend: KubernetesBackend) -> None:
    Kubelet(server.store)
    cast = make_cast()
    loop, alone = Loop(backend), job(cast.project_a, cast.bob)
    after_rounds(loop, alone, "running")
    actions.cancel_job(alone, actor=cast.bob)
    after_rounds(loop, alone, "cancelled")
    assert ours(server) == []


def test_training_goes_on_while_the_api_server_is_away(server: ApiServer, backend: KubernetesBackend) -> None:
    Kubelet(server.store)
    cast = make_cast()
    loop, alone = Loop(backend), job(cast.project_a, cast.bob)
    after_rounds(loop, alone, "running")
    before = [pod["metadata"]["uid"] for pod in pods(server)]
    server.stop()
    loop.round()
    server.start()
    after_rounds(loop, alone, "running")
    assert [pod["metadata"]["uid"] for pod in pods(server)] == before


@pytest.mark.slow
def test_a_lost_node_costs_an_attempt_and_not_the_job(server: ApiServer, backend: KubernetesBackend) -> None:
    Kubelet(server.store)
    cast = make_cast()
    loop, alone = Loop(backend), job(cast.project_a, cast.bob)
    after_rounds(loop, alone, "running")
    lost = pods(server)[0]["spec"]["nodeName"]
    server.store.delete("nodes", "", lost, None)
    wait(lambda: len(backend.inventory()) == 1)
    wait(lambda: loop.round() and alone.attempts.count() == 2)
    after_rounds(loop, alone, "running")
    assert {pod["spec"]["nodeName"] for pod in pods(server)} == {"node-1", "node-2"} - {lost}
    assert alone.attempts.count() == 2
