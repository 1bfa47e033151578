# SPDX-License-Identifier: Apache-2.0
"""What every backend promises, written once and tested on each of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlhub.agent.enclosures import enclose
from mlhub.backends.fake import FakeBackend
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.local import LocalBackend, LocalCluster, read_cluster
from mlhub.backends.protocol import AttemptStatus, Backend, GangPhase, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole
from tests.backends import specs
from tests.backends.agents.machines import machines
from tests.backends.kubernetes import real
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.kubelet import Kubelet, node
from tests.backends.specs import PROGRAM, program

LABELS = {"organisation": "acme", "project": "signs", "project_id": "018f0000-0000-7000-8000-0000000000bb"}
CLUSTER = Path(__file__).parents[2] / "deploy" / "local" / "cluster.yaml"


AGENTS = pytest.param("agents", marks=[pytest.mark.slow, pytest.mark.dist, pytest.mark.django_db(transaction=True)])
BACKENDS = ["fake", "local", "sandboxed", "kubernetes", AGENTS, *(["cluster"] if real.is_there() else [])]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    if request.param == "fake":
        yield FakeBackend(read_cluster(CLUSTER).nodes)
        return
    if request.param == "cluster":
        yield from real.backend_on_it()
        return
    if request.param == "agents":
        with machines(tmp_path, request.getfixturevalue("settings")) as (_, agents):
            yield agents
        return
    if request.param == "kubernetes":
        yield from kubernetes_backend(tmp_path)
        return
    inside = request.param == "sandboxed"
    argv = [sys.executable, "-S", "-c", PROGRAM] if inside else program(tmp_path)
    local = LocalBackend(tmp_path, read_cluster(CLUSTER), argv=argv, enclose=enclose if inside else None)
    yield local
    for status in local.observe():
        local.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in local.observe()))


def kubernetes_backend(folder: Path) -> Iterator[Backend]:
    """Over an API server that grants the chart's rights and no more."""
    server = ApiServer(rules=RULES)
    Kubelet(server.store)
    for name in ("node-1", "node-2"):
        server.store.create("nodes", "", node(name))
    backend = KubernetesBackend.connect(KubernetesOptions(kubeconfig=server.kubeconfig(folder)))
    yield backend
    backend.close()
    server.stop()


def gang(*args: Any, **kwargs: Any) -> LaunchSpec:
    """As the platform launches it: in a project."""
    return replace(specs.gang(*args, **kwargs), labels=LABELS)


def wait(condition: Callable[[], Any], *, seconds: float = 120) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)
    return found


def of(backend: Backend, spec: LaunchSpec) -> AttemptStatus | None:
    return next((s for s in backend.observe() if s.attempt_id == spec.attempt_id), None)


def wait_for_handlers(backend: LocalBackend, spec: LaunchSpec, *, workers: int = 1) -> None:
    """Real programs print a line once they have installed their signal handler."""
    wait(lambda: all(list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=i)) for i in range(workers)))


def ended(backend: Backend, spec: LaunchSpec) -> AttemptStatus:
    def look() -> AttemptStatus | None:
        status = of(backend, spec)
        return status if status and status.phase.is_ended else None

    found: AttemptStatus = wait(look)
    return found


def test_a_launched_gang_runs_with_every_pod(backend: Backend) -> None:
    spec = gang(workers=2, servers=1)
    backend.launch(spec)
    wait(lambda: (s := of(backend, spec)) and s.phase is GangPhase.RUNNING)
    status = of(backend, spec)
    assert status is not None
    assert {(p.role, p.index, p.node) for p in status.pods} == {
        (PodRole.WORKER, 0, "node-1"),
        (PodRole.WORKER, 1, "node-2"),
        (PodRole.SERVER, 0, "node-1"),
    }
    assert all(p.is_running and p.exit_code is None for p in status.pods)
    assert status.started_at is not None
    assert status.ended_at is None


def test_launching_the_same_attempt_twice_makes_one_gang(backend: Backend) -> None:
    spec = gang()
    backend.launch(spec)
    wait(lambda: (s := of(backend, spec)) and s.phase is GangPhase.RUNNING)
    first = of(backend, spec)
    backend.launch(spec)
    assert of(backend, spec) == first
    assert len(backend.observe()) == 1


@pytest.mark.parametrize("wrong", [{"node": "nowhere"}, {"slots": (7,)}])
def test_a_gang_that_cannot_be_placed_whole_leaves_nothing_behind(backend: Backend, wrong: dict[str, Any]) -> None:
    with pytest.raises(LaunchError) as refused:
        backend.launch(gang(workers=2, **wrong))
    assert refused.value.cause in (Cause.NODE_LOST, Cause.LAUNCH_FAILED)
    assert list(backend.observe()) == []


def test_a_stopped_gang_ends_as_stopped_and_is_shown_until_it_is_dropped(backend: Backend) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    wait(lambda: (s := of(backend, spec)) and s.phase is GangPhase.RUNNING)
    if isinstance(backend, LocalBackend):
        wait_for_handlers(backend, spec, workers=2)
    else:
        time.sleep(0.3)
    backend.stop(spec.attempt_id, grace_s=60)
    status = ended(backend, spec)
    assert status.phase is GangPhase.STOPPED
    assert {p.exit_code for p in status.pods} == {75}
    assert status.ended_at is not None
    assert of(backend, spec) == status
    backend.stop(spec.attempt_id, grace_s=0)
    assert of(backend, spec) is None


def test_launching_an_attempt_that_has_ended_does_not_start_it_again(backend: Backend) -> None:
    spec = gang()
    backend.launch(spec)
    backend.stop(spec.attempt_id, grace_s=5)
    status = ended(backend, spec)
    backend.launch(spec)
    assert of(backend, spec) == status


def test_unknown_attempts_are_ignored(backend: Backend) -> None:
    backend.stop(AttemptId("unknown"), grace_s=0)
    assert list(backend.logs(AttemptId("unknown"), role=PodRole.WORKER, index=0)) == []


def test_every_node_is_in_the_inventory(backend: Backend) -> None:
    nodes = {n.name: n for n in backend.inventory()}
    assert set(nodes) == {"node-1", "node-2"}
    assert nodes["node-1"].nic_bps == 10e9
    assert nodes["node-1"].is_ready
    assert isinstance(read_cluster(CLUSTER), LocalCluster)
