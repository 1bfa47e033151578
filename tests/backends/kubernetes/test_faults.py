# SPDX-License-Identifier: Apache-2.0
"""Tests of an API server that is slow, busy, restarted or forgetful: nothing is lost, doubled or left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mlhub.backends.kubernetes import backend as backend_module
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client import api, mirror, paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.protocol import BackendUnavailableError, GangPhase
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import of, ours, pods, reach, wait
from tests.backends.kubernetes.kubelet import Kubelet, node
from tests.backends.specs import gang

RUNNING = GangPhase.RUNNING


def test_throttled_requests_are_repeated_after_the_time_the_server_asks_for(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    server.fail(429, times=3, only="POST", retry_after="0.1")
    backend.launch(gang(workers=2))
    assert len(pods(server)) == 2


@pytest.mark.parametrize("acts", [False, True])
@pytest.mark.parametrize("verb", ["POST", "PATCH"])
def test_a_request_whose_answer_is_lost_is_done_once(
    server: ApiServer, backend: KubernetesBackend, verb: str, acts: bool
) -> None:
    backend.inventory()
    server.drop(times=1, only=verb, acts=acts)
    server.drop(times=1, only=verb, path="/pods", acts=acts)
    spec = gang(workers=2)
    backend.launch(spec)
    assert len(pods(server)) == 2
    assert reach(backend, spec, RUNNING)


def test_a_slow_server_is_asked_again(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]
) -> None:
    backend = connect(unschedulable_after_s=0.0, request_timeout_s=2.0)
    server.slow(3.0, times=1, only="POST", path="/services")
    spec = gang()
    backend.launch(spec)
    assert len(ours(server, "services")) == 1
    assert reach(backend, spec, RUNNING)


def test_a_launch_that_the_server_never_answers_leaves_nothing_behind(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    server.fail(503, times=10, only="POST", path="/pods", retry_after="0.01")  # two pods, five tries each
    with pytest.raises(BackendUnavailableError):
        backend.launch(gang(workers=2))
    assert ours(server) == []


def lists_of_pods(backend: KubernetesBackend) -> int:
    """How often the backend listed all pods: only its mirror of them knows, the server cannot tell lists apart."""
    return backend._pods.n_lists


def test_a_watch_that_breaks_is_resumed_and_misses_nothing(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    spec = gang()
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    n_lists = lists_of_pods(backend)
    server.break_watches()
    metadata = pods(server)[0]["metadata"]
    kubelet.end(metadata["namespace"], metadata["name"], 0)
    assert reach(backend, spec, GangPhase.SUCCEEDED)
    assert lists_of_pods(backend) == n_lists


def test_a_watch_that_is_too_old_lists_anew(server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend) -> None:
    spec = gang()
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    n_lists = lists_of_pods(backend)
    server.fail(503, times=3, path="watch=true")
    server.break_watches()
    metadata = pods(server)[0]["metadata"]
    kubelet.end(metadata["namespace"], metadata["name"], 0)
    server.store.forget_history()
    assert reach(backend, spec, GangPhase.SUCCEEDED)
    wait(lambda: lists_of_pods(backend) > n_lists)


def test_what_vanished_while_no_one_watched_is_gone_after_the_relist(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    server.store.create("nodes", "", node("node-3"))
    assert len(backend.inventory()) == 3
    server.break_watches()
    server.store.delete("nodes", "", "node-3", None)
    server.store.forget_history()
    wait(lambda: len(backend.inventory()) == 2)


def test_the_server_may_be_restarted_in_mid_training(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    before = [pod["metadata"]["uid"] for pod in pods(server)]
    server.stop()
    with pytest.raises(BackendUnavailableError, match="cannot be reached"):
        backend.stop(spec.attempt_id, grace_s=1)
    server.start()
    assert reach(backend, spec, RUNNING)
    assert [pod["metadata"]["uid"] for pod in pods(server)] == before


def test_a_new_process_finds_all_gangs_and_can_end_them(
    server: ApiServer, backend: KubernetesBackend, connect: Callable[..., KubernetesBackend]
) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    other = connect()
    other.launch(spec)
    assert reach(other, spec, RUNNING)
    assert len(pods(server)) == 2
    other.stop(spec.attempt_id, grace_s=5)
    reach(backend, spec, GangPhase.STOPPED)
    backend.stop(spec.attempt_id, grace_s=0)
    wait(lambda: of(other, spec) is None)
    assert ours(server) == []


def test_a_removal_that_breaks_off_is_finished_the_next_time(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang("done", workers=2)
    backend.launch(spec)
    reach(backend, spec, GangPhase.SUCCEEDED)
    server.fail(500, times=5, only="DELETE", path="/secrets")
    with pytest.raises(BackendUnavailableError):
        backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server) != []
    assert reach(backend, spec, GangPhase.SUCCEEDED, GangPhase.FAILED)
    backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []


def test_long_lists_come_in_pages(
    server: ApiServer, backend: KubernetesBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlhub.backends.kubernetes.client.api.PAGE", 2)
    for number in range(3, 8):
        server.store.create("nodes", "", node(f"node-{number}"))
    assert [n.name for n in backend.inventory()] == [f"node-{i}" for i in range(1, 8)]


def test_a_cluster_that_cannot_be_reached_is_reported_with_the_setting(tmp_path: Path) -> None:
    missing = KubernetesBackend.connect(KubernetesOptions(kubeconfig=str(tmp_path / "none")))
    with pytest.raises(BackendUnavailableError, match="MLHUB_KUBE_KUBECONFIG"):
        missing.observe()


def test_a_missing_right_is_reported(server: ApiServer, backend: KubernetesBackend) -> None:
    server.rules = ()
    with pytest.raises(BackendUnavailableError, match=r'right is missing.*cannot list resource "services"'):
        backend.observe()


def test_a_gang_that_survives_lost_workers_goes_on_without_them_and_reports_it(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    spec = gang(workers=2, servers=1, survives=True)
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    lost = next(p["metadata"] for p in pods(server) if p["metadata"]["name"].endswith("worker-1"))
    kubelet.end(lost["namespace"], lost["name"], 64)
    status = wait(lambda: (s := of(backend, spec)) and s.message and s)
    assert status.phase is RUNNING
    assert "worker 1 on node-2" in status.message
    for pod in pods(server):
        if pod["metadata"]["name"] != lost["name"]:
            kubelet.end(pod["metadata"]["namespace"], pod["metadata"]["name"], 0)
    assert reach(backend, spec, GangPhase.SUCCEEDED, GangPhase.FAILED).phase is GangPhase.SUCCEEDED


def test_a_database_that_was_put_back_is_believed(server: ApiServer, tmp_path: Path) -> None:
    options = KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path))
    mirror = Mirror(KubernetesApi(lambda: connection(options), timeout_s=60.0), paths.NODES, relist_after_s=0.0)
    server.store.create("nodes", "", node("early"))
    before = dict(server.store.objects), server.store.version
    server.store.create("nodes", "", node("late"))

    def names() -> set[str]:
        return {found["metadata"]["name"] for found in mirror.objects()}

    assert wait(lambda: "late" in names() and server.n_watches)
    server.store.go_back(*before)
    server.break_watches()
    assert wait(lambda: "late" not in names())
    assert "early" in names()
    server.store.create("nodes", "", node("later"))
    assert wait(lambda: "later" in names())
    mirror.close()


def test_a_copy_whose_thread_met_an_unexpected_error_is_listed_anew(server: ApiServer, tmp_path: Path) -> None:
    """Such as a kubeconfig that is being exchanged, or an event that is none."""
    options = KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path))
    problems: list[Exception] = [KeyError("current-context"), ValueError("no event")]

    def connect() -> object:
        if problems:
            raise problems.pop()
        return connection(options)

    server.store.create("nodes", "", node("n0"))
    found = Mirror(KubernetesApi(connect, timeout_s=60.0), paths.NODES)
    try:
        wait(lambda: "n0" in [n["metadata"]["name"] for n in found.objects()])
        assert not problems
    finally:
        found.close()


def test_a_first_list_that_is_cut_off_is_made_again_within_the_round(
    server: ApiServer, backend: KubernetesBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "N_TRIES", 1)
    monkeypatch.setattr(mirror, "FIRST_LIST_AGAIN_S", 60.0)
    for path in ("/api/v1/pods", "/api/v1/services", "/api/v1/nodes", "/api/v1/namespaces"):
        server.drop(times=2, only="GET", path=path)
    assert backend.observe() == []


def test_others_pods_stay_counted_as_they_were_while_they_cannot_be_listed(
    server: ApiServer, backend: KubernetesBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "OTHERS_EVERY_S", 0.0)
    before = backend.inventory()
    monkeypatch.setattr(api, "N_TRIES", 1)
    server.drop(times=1, only="GET", path="labelSelector=%21mlhub.dev")
    assert backend.inventory() == before
    monkeypatch.setattr(backend_module, "OTHERS_TOO_OLD_S", 0.0)
    server.drop(times=1, only="GET", path="labelSelector=%21mlhub.dev")
    with pytest.raises(BackendUnavailableError):
        backend.inventory()
