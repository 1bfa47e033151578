# SPDX-License-Identifier: Apache-2.0
"""Look-alikes: objects with copied labels are never changed, deleted or believed, and cost no gang anything."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.protocol import GangPhase, ItemKind, LaunchError
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import of, ours, pods, reach, wait
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.kubernetes.store import Object
from tests.backends.specs import gang

RUNNING = GangPhase.RUNNING


def copied(found: Object, *, namespace: str = "", name: str = "", **metadata: Any) -> Object:
    """What somebody makes who copies an object of MLHub's with all its labels, annotations and owners."""
    made = copy.deepcopy(found)
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        del made["metadata"][key]
    made["metadata"] |= {
        "namespace": namespace or made["metadata"]["namespace"],
        "name": name or made["metadata"]["name"],
    }
    made["metadata"] |= metadata
    return made


def made(server: ApiServer, plural: str, body: Object) -> Object:
    namespace = body["metadata"]["namespace"]
    if ("namespaces", "", namespace) not in server.store.objects:
        server.store.create("namespaces", "", {"metadata": {"name": namespace}})
        server.store.create("serviceaccounts", namespace, {"metadata": {"name": "mlhub-pods", "namespace": namespace}})
    return server.store.create(plural, namespace, body)


def reasons(backend: KubernetesBackend) -> dict[str, str]:
    return {item.name: item.reason for item in backend.quarantined()}


def is_untouched(server: ApiServer, plural: str, seen: Object) -> bool:
    metadata = seen["metadata"]
    found = server.store.objects.get((plural, metadata["namespace"], metadata["name"]))
    return found is not None and found["metadata"]["resourceVersion"] == metadata["resourceVersion"]


@pytest.mark.parametrize("where", ["mlhub-elsewhere", "kube-public", "here"])
def test_a_pod_with_copied_labels_survives_its_originals_end(
    server: ApiServer, backend: KubernetesBackend, where: str
) -> None:
    spec = gang()
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    [original] = pods(server)
    home = original["metadata"]["namespace"]
    body = copied(original, namespace=home if where == "here" else where, name="theirs")
    stranger = made(server, "pods", {**body, "spec": {**body["spec"], "schedulingGates": [{"name": "theirs"}]}})
    wait(lambda: reasons(backend) or (backend.observe() and False))
    assert "leaves it alone" in reasons(backend)[f"{stranger['metadata']['namespace']}/theirs"]
    backend.stop(spec.attempt_id, grace_s=1)
    reach(backend, spec, GangPhase.STOPPED)
    backend.stop(spec.attempt_id, grace_s=0)
    wait(lambda: of(backend, spec) is None)
    assert is_untouched(server, "pods", stranger)
    assert [pod["metadata"]["name"] for pod in pods(server)] == ["theirs"]


def test_a_pod_of_the_right_name_that_another_object_owns_is_no_member(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    original = pods(server)[1]
    owner = {**original["metadata"]["ownerReferences"][0], "uid": "another"}
    key = ("pods", original["metadata"]["namespace"], original["metadata"]["name"])
    server.store.patch(*key, {"metadata": {"finalizers": None}})
    server.store.delete(*key, 0)
    stranger = made(server, "pods", copied(original, ownerReferences=[owner], finalizers=[]))
    status = reach(backend, spec, GangPhase.FAILED)
    assert "removed behind MLHub's back" in status.message
    assert "its owner is another record" in reasons(backend)[f"{key[1]}/{key[2]}"]
    backend.stop(spec.attempt_id, grace_s=0)
    backend.stop(spec.attempt_id, grace_s=0)  # its record is gone by now
    assert is_untouched(server, "pods", stranger)


@pytest.mark.parametrize("namespace", ["mlhub-elsewhere", "here"])
@pytest.mark.parametrize("annotation", ["no JSON", "[]", "{}", '{"pods": 7}'])
def test_a_service_with_a_malformed_annotation_costs_no_gang_anything(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend], namespace: str, annotation: str
) -> None:
    spec = gang()
    replicas = [connect(), connect()]
    replicas[0].launch(spec)
    [original] = ours(server, "services")
    home = original["metadata"]["namespace"] if namespace == "here" else namespace
    stranger = made(
        server,
        "services",
        copied(original, namespace=home, name="theirs", annotations={names.GANG: annotation, names.LAUNCHED: "x"}),
    )
    for backend in replicas:
        wait(lambda found=backend: (found.observe(), reasons(found))[1])  # type: ignore[misc]
        assert reach(backend, spec, RUNNING)
        assert [status.attempt_id for status in backend.observe()] == [spec.attempt_id]
        [item] = backend.quarantined()
        assert (item.kind, item.name) == (ItemKind.GANG, f"service {home}/theirs")
    assert is_untouched(server, "services", stranger)


@pytest.mark.parametrize("key", [names.GANG, names.LAUNCHED, names.STOP])
def test_a_record_of_ours_that_was_damaged_costs_its_gang_and_no_other(
    server: ApiServer, backend: KubernetesBackend, key: str
) -> None:
    sick, well = gang(), gang(slots=(1,))
    for spec in (sick, well):
        backend.launch(spec)
        reach(backend, spec, RUNNING)
    record = next(s["metadata"] for s in ours(server, "services") if sick.attempt_id in s["metadata"]["name"])
    server.store.patch("services", record["namespace"], record["name"], {"metadata": {"annotations": {key: "?"}}})
    assert "damaged" in reach(backend, sick, GangPhase.FAILED).message
    assert reach(backend, well, RUNNING)
    since = {item.name: item.since for item in backend.quarantined()}
    backend.observe()
    assert {item.name: item.since for item in backend.quarantined()} == since
    assert list(since) == [sick.attempt_id]
    backend.stop(sick.attempt_id, grace_s=0)
    wait(lambda: of(backend, sick) is None)
    assert backend.quarantined() == ()
    assert len(pods(server)) == 1


def test_a_namespace_of_somebody_else_is_not_taken_over(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang()
    name = names.namespace_of(spec.labels, prefix="mlhub")
    theirs = server.store.create("namespaces", "", {"metadata": {"name": name, "labels": {"team": "theirs"}}})
    with pytest.raises(LaunchError, match="it is not managed by MLHub"):
        backend.launch(spec)
    assert server.store.get("namespaces", "", name) == theirs
    assert {key[0] for key in server.store.objects if key[1] == name} == set()


def test_a_service_that_is_in_the_way_of_a_record_stays_as_it_is(server: ApiServer, backend: KubernetesBackend) -> None:
    first, spec = gang(), gang()
    backend.launch(first)
    home = pods(server)[0]["metadata"]["namespace"]
    metadata = {"namespace": home, "name": names.gang_name(spec.attempt_id), "labels": {names.ATTEMPT: spec.attempt_id}}
    stranger = server.store.create("services", home, {"metadata": metadata})
    with pytest.raises(LaunchError, match="is in the way"):
        backend.launch(spec)
    assert is_untouched(server, "services", stranger)


def test_a_namespace_whose_labels_somebody_changed_stays_ours_and_is_corrected(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang()
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    home = pods(server)[0]["metadata"]["namespace"]
    before = server.store.get("namespaces", "", home)["metadata"]["labels"]
    stripped = {names.PROJECT: None, names.INSTALLATION: "another", "pod-security.kubernetes.io/enforce": "privileged"}
    server.store.patch("namespaces", "", home, {"metadata": {"labels": stripped}})
    wait(lambda: [backend.observe()] and server.store.get("namespaces", "", home)["metadata"]["labels"] == before)
    assert reach(backend, spec, RUNNING)


def test_gangs_that_an_older_version_made_without_the_installation_s_label_are_ours(
    server: ApiServer, backend: KubernetesBackend, connect: Callable[..., KubernetesBackend]
) -> None:
    spec = gang()
    backend.launch(spec)
    unlabelled = {"metadata": {"labels": {names.INSTALLATION: None}}}
    for key in list(server.store.objects):
        if key[1].startswith("mlhub-") or (key[0] == "namespaces" and key[2].startswith("mlhub-")):
            server.store.patch(*key, unlabelled)
    upgraded = connect()
    assert reach(upgraded, spec, RUNNING)
    upgraded.stop(spec.attempt_id, grace_s=1)
    reach(upgraded, spec, GangPhase.STOPPED)
    upgraded.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []
