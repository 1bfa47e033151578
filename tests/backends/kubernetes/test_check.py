# SPDX-License-Identifier: Apache-2.0
"""Tests of `make kube-check`: what it reports of good and bad clusters, and that nothing of it stays."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mlhub.backends.kubernetes.check.__main__ import check
from mlhub.backends.kubernetes.check.report import CheckReport
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.kubernetes.options import KubernetesOptions
from tests.backends.kubernetes.api_server import ADMIN, ApiServer
from tests.backends.kubernetes.devices import resource_slice
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.kubernetes.store import Object


def run(server: ApiServer, folder: Path, **options: str) -> tuple[int, str]:
    output = io.StringIO()
    config = server.kubeconfig(folder, token=ADMIN)
    chosen = KubernetesOptions(kubeconfig=config, request_timeout_s=60.0, **options)  # type: ignore[arg-type]
    return check(chosen, CheckReport(output)), output.getvalue()


@pytest.mark.slow
def test_a_sound_cluster_passes_with_the_charts_rights_and_is_left_as_it_was(
    server: ApiServer, kubelet: Kubelet, tmp_path: Path
) -> None:
    before = set(server.store.objects)
    server.refuse = lambda plural, body: (
        'violates PodSecurity "restricted:latest": privileged'
        if plural == "pods" and body["metadata"]["name"] == "mlhub-check-privileged"
        else ""
    )
    code, output = run(server, tmp_path)
    assert code == 0, output
    for words in (
        "ok       Kubernetes v1.33.0",
        f"ok       RBAC: {len(RULES)} rules installed",
        "ok       The account has each right that MLHub needs.",
        "ok       8 GPUs on 2 nodes",
        "ok       A gang of two was launched twice and made once.",
        "ok       Both pods met",
        "ok       Asked to stop, both pods left with their exit codes.",
        "ok       Two workers found each other by name and trained",
        "ok       An image that does not exist was reported as such",
        "ok       Nothing of the gangs was left behind.",
        "ok       Pod Security `restricted` is enforced",
        "missing  There is no storage class",
        "missing  No dynamic resource allocation",
        "missing  GPUs of 2 nodes (node-1, node-2): Each job has its GPUs alone",
    ):
        assert words in output
    assert set(server.store.objects) == before


def test_without_nodes_it_is_reported_how_far_pods_got(tmp_path: Path) -> None:
    server = ApiServer(rules=RULES)
    code, output = run(server, tmp_path)
    server.stop()
    assert code == 0, output
    assert "missing  No kubelet: pods were made and released, 0 of 2 bound; none can run here." in output
    assert "missing  Pod Security is not enforced" in output
    assert server.store.objects == {}


def test_pods_that_are_bound_to_a_node_without_a_kubelet_are_removed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlhub.backends.kubernetes.status.problems.NO_ANSWER_AFTER_S", -5.0)
    server = ApiServer(rules=RULES)

    def bind(pod: Object) -> None:
        if not pod["spec"].get("schedulingGates") and not pod["spec"].get("nodeName"):
            metadata = pod["metadata"]
            server.store.patch("pods", metadata["namespace"], metadata["name"], {"spec": {"nodeName": "paper"}})

    server.store.on_pod = bind
    code, output = run(server, tmp_path)
    server.stop()
    assert code == 0, output
    assert "2 of 2 bound; none can run here." in output
    assert server.store.objects == {}


def test_rights_that_do_not_suffice_are_reported(server: ApiServer, kubelet: Kubelet, tmp_path: Path) -> None:
    server.rules = [rule for rule in RULES if rule.resource != "secrets"]
    code, output = run(server, tmp_path)
    assert code == 1
    assert 'cannot create resource "secrets"' in output
    assert "failed   Rights are missing, which the chart's ClusterRole grants. secrets: create, delete" in output
    assert not [key for key in server.store.objects if key[0] in ("pods", "services", "clusterroles")]


def test_a_server_that_does_not_answer_is_reported(server: ApiServer, tmp_path: Path) -> None:
    server.stop()
    code, output = run(server, tmp_path)
    server.start()
    assert code == 1
    assert "failed   The Kubernetes API cannot be reached" in output


@pytest.mark.slow
@pytest.mark.parametrize("storage_class", ["fast"])
def test_a_storage_class_that_is_not_there_is_reported(
    server: ApiServer, kubelet: Kubelet, tmp_path: Path, storage_class: str
) -> None:
    code, output = run(server, tmp_path, storage_class=storage_class)
    assert code == 1
    assert "failed   There is no storage class fast; known: none." in output


@pytest.mark.slow
def test_what_keeps_gpus_from_being_shared_is_reported(server: ApiServer, kubelet: Kubelet, tmp_path: Path) -> None:
    server.claim_versions = ("v1",)
    _, output = run(server, tmp_path)
    assert (
        "missing  Dynamic resource allocation is there (v1), but no DeviceClass gpu.nvidia.com; known: none." in output
    )
    server.store.create("deviceclasses", "", {"metadata": {"name": "gpu.nvidia.com"}})
    server.store.create("resourceslices", "", resource_slice("node-1"))
    _, output = run(server, tmp_path)
    assert "ok       Dynamic resource allocation (v1) has gpu.nvidia.com, with GPUs on 1 node." in output
    assert "ok       GPUs of 1 node (node-1): Up to 2 jobs of one project share a GPU by a ResourceClaim." in output
    assert "missing  Node node-1: Its GPUs are offered twice" in output


@pytest.mark.slow
def test_the_check_waits_until_its_namespaces_have_gone(server: ApiServer, kubelet: Kubelet, tmp_path: Path) -> None:
    """Until then a second check could not begin."""
    server.store.namespaces_end_after_s = 0.5
    for _ in range(2):
        code, output = run(server, tmp_path)
        assert code == 0, output
        assert not [key for key in server.store.objects if key[0] == "namespaces"]


def test_pods_of_the_check_fit_on_the_node_that_it_makes(tmp_path: Path) -> None:
    server = ApiServer(rules=RULES)
    Kubelet(server.store)
    code, output = run(server, tmp_path)
    server.stop()
    assert code == 0, output
    assert "2 of 2 bound; none can run here." in output
