# SPDX-License-Identifier: Apache-2.0
"""Tests of projects on a cluster: a namespace by id, and old checkpoints removed from its volume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.operations.sweeping import sweep_pod
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.protocol import GangPhase
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import pods, reach
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.kubernetes.schema import problems
from tests.backends.kubernetes.store import Object
from tests.backends.specs import gang

PROJECT = "018f0000-0000-7000-8000-0000000000bb"
LABELS = {"organisation": "acme", "project": "signs", "project_id": PROJECT}
JOBS = ["018f0000-0000-7000-8000-000000000001", "018f0000-0000-7000-8000-000000000002"]


def sweeps(server: ApiServer) -> list[Object]:
    return [o for (kind, _, _), o in server.store.objects.items() if names.SWEEP in (o["metadata"].get("labels") or {})]


def test_a_renamed_project_stays_where_its_checkpoints_are(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    for name in ("signs", "street signs"):
        spec = replace(gang(), labels={**LABELS, "project": name})
        backend.launch(spec)
        reach(backend, spec, GangPhase.RUNNING)
    assert {pod["metadata"]["namespace"] for pod in pods(server)} == {f"mlhub-{PROJECT}"}
    home = server.store.get("namespaces", "", f"mlhub-{PROJECT}")
    assert home["metadata"]["labels"][names.PROJECT_ID] == PROJECT
    assert all(pod["metadata"]["labels"][names.PROJECT_ID] == PROJECT for pod in pods(server))


def test_an_id_that_is_no_label_still_makes_a_namespace_of_its_own() -> None:
    odd = [{"project": "a", "project_id": text} for text in ("Ünïcode", "x" * 200, "A", "a b")]
    found = {names.namespace_of(labels, prefix="mlhub") for labels in odd}
    assert len(found) == len(odd)
    assert all(len(name) <= 63 for name in found)


def test_a_sweep_is_one_pod_that_is_removed_when_it_is_done(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]
) -> None:
    backend = connect(checkpoint_bytes=2**30)
    spec = replace(gang(), labels=LABELS)
    backend.launch(spec)
    for _ in range(2):
        backend.sweep_checkpoints(LABELS, ended=JOBS, older_than_s=86400)
    [pod] = sweeps(server)
    container = pod["spec"]["containers"][0]
    assert container["command"][-2:] == ["--older-than-s", "86400"]
    assert container["env"][0]["value"] == ",".join(job.replace("-", "") for job in JOBS)
    assert [s.attempt_id for s in backend.observe()] == [spec.attempt_id]
    where = pod["metadata"]
    server.store.patch("pods", where["namespace"], where["name"], {"status": {"phase": "Succeeded"}})
    backend.sweep_checkpoints(LABELS, ended=JOBS[:1], older_than_s=86400)
    assert [p["metadata"]["name"] for p in sweeps(server)] != [where["name"]]
    assert len(sweeps(server)) == 1


def test_a_project_without_volume_or_namespace_has_nothing_to_sweep(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]
) -> None:
    connect(checkpoint_bytes=0).sweep_checkpoints(LABELS, ended=JOBS, older_than_s=1)
    connect(checkpoint_bytes=2**30).sweep_checkpoints(LABELS, ended=JOBS, older_than_s=1)
    assert sweeps(server) == []


def test_the_sweeping_pod_keeps_to_the_restricted_standard() -> None:
    pod = sweep_pod("ns", KubernetesOptions(image_pull_secret="registry"), ended=JOBS, older_than_s=86400)
    assert problems(pod) == []
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["activeDeadlineSeconds"] > 0
    [container] = pod["spec"]["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_installations_are_distinguished_though_their_prefixes_begin_alike(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]
) -> None:
    ours, theirs = connect(), connect(namespace_prefix="mlhub-b")
    spec = replace(gang(), labels=LABELS)
    theirs.launch(spec)
    reach(theirs, spec, GangPhase.RUNNING)
    assert ours.observe() == []
    assert [status.attempt_id for status in theirs.observe()] == [spec.attempt_id]
