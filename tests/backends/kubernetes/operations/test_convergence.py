# SPDX-License-Identifier: Apache-2.0
"""What isolates a project is corrected when somebody changes or removes it, and left alone when it is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.drift import differs
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import tenancy
from mlhub.backends.protocol import ItemKind, LaunchError
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import pods, wait
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.specs import gang

Connect = Callable[..., KubernetesBackend]


@pytest.fixture
def home(server: ApiServer, backend: KubernetesBackend) -> str:
    """The namespace of a project that has a gang."""
    backend.launch(replace(gang(), api_url="https://mlhub.example.org"))
    return str(pods(server)[0]["metadata"]["namespace"])


def writes(server: ApiServer) -> list[str]:
    return [verb for verb, _, _ in server.asked if verb in ("create", "patch", "delete")]


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("networkpolicies", tenancy.DEFAULT_DENY, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
    ("networkpolicies", tenancy.DEFAULT_DENY, {"spec": {"policyTypes": ["Ingress"]}}),
    ("networkpolicies", tenancy.ALLOWED, {"spec": {"egress": [{}]}}),
    ("resourcequotas", tenancy.LIMITS, {"spec": {"hard": {"services.loadbalancers": "5"}}}),
    ("limitranges", tenancy.LIMITS, {"spec": {"limits": []}}),
    ("serviceaccounts", "mlhub-pods", {"automountServiceAccountToken": True}),
    ("serviceaccounts", "mlhub-pods", {"metadata": {"labels": {"app.kubernetes.io/managed-by": "them"}}}),
]


@pytest.mark.parametrize(("plural", "name", "change"), CHANGES)
@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_was_changed_by_hand_is_as_it_was_after_the_next_round(
    server: ApiServer, backend: KubernetesBackend, connect: Connect, home: str, plural: str, name: str, change: Any,
    is_restarted: bool,
) -> None:  # fmt: skip
    before = server.store.get(plural, home, name)
    backend.observe()
    server.store.patch(plural, home, name, change)
    looks = connect() if is_restarted else backend

    def is_corrected() -> bool:
        looks.observe()
        found = server.store.get(plural, home, name)
        keys = ("spec", "automountServiceAccountToken")
        return all(found.get(k) == before.get(k) for k in keys) and (
            found["metadata"]["labels"] == before["metadata"]["labels"]
        )

    wait(is_corrected)


@pytest.mark.parametrize(("plural", "name"), sorted({(plural, name) for plural, name, _ in CHANGES}))
def test_what_was_removed_is_made_again(
    server: ApiServer, backend: KubernetesBackend, home: str, plural: str, name: str
) -> None:
    backend.observe()
    server.store.delete(plural, home, name, None)
    wait(lambda: [backend.observe()] and (plural, home, name) in server.store.objects)


def test_what_others_added_stays_and_causes_no_writes(server: ApiServer, backend: KubernetesBackend, home: str) -> None:
    server.store.patch("resourcequotas", home, tenancy.LIMITS, {"spec": {"hard": {"count/jobs.batch": "7"}}})
    server.store.patch("namespaces", "", home, {"metadata": {"labels": {"cost-centre": "12"}}})
    backend.observe()
    wait(lambda: "12" in str(backend._projects.namespaces.named("", home)))
    n_writes = len(writes(server))
    for _ in range(5):
        backend.observe()
    assert len(writes(server)) == n_writes
    assert server.store.get("resourcequotas", home, tenancy.LIMITS)["spec"]["hard"]["count/jobs.batch"] == "7"


def test_the_second_gang_of_a_project_writes_nothing_but_its_own_objects(
    server: ApiServer, backend: KubernetesBackend, home: str
) -> None:
    server.asked.clear()
    backend.launch(replace(gang(), api_url="https://mlhub.example.org"))
    assert sorted((verb, resource) for verb, _, resource in server.asked if verb in ("create", "patch")) == [
        ("create", "networkpolicies"),
        ("create", "pods"),
        ("create", "secrets"),
        ("create", "services"),
        ("patch", "pods"),
        ("patch", "services"),
    ]


def test_a_round_in_which_nothing_changes_asks_the_server_nothing(
    server: ApiServer, backend: KubernetesBackend, home: str, kubelet: Kubelet
) -> None:
    for slot in range(1, 4):
        backend.launch(replace(gang("quiet", slots=(slot,)), api_url="https://mlhub.example.org"))
    assert len(backend.observe()) == 4
    asked = [entry for entry in server.asked if entry[0] != "watch"]
    for _ in range(3):
        assert len(backend.observe()) == 4
    assert [entry for entry in server.asked if entry[0] != "watch"] == asked


def test_a_correction_that_is_refused_is_reported_and_keeps_new_gangs_from_starting(
    server: ApiServer, backend: KubernetesBackend, home: str
) -> None:
    backend.observe()
    server.refuse = lambda plural, body: "denied the request: frozen" if plural == "networkpolicies" else ""
    server.store.delete("networkpolicies", home, tenancy.DEFAULT_DENY, None)
    wait(lambda: [backend.observe()] and backend.quarantined())
    [item] = backend.quarantined()
    assert (item.kind, item.name) == (ItemKind.PROJECT, f"NetworkPolicy {home}/{tenancy.DEFAULT_DENY}")
    assert "frozen" in item.reason
    with pytest.raises(LaunchError, match="frozen"):
        backend.launch(replace(gang(), api_url="https://mlhub.example.org"))
    assert len(pods(server)) == 1


def test_a_volume_that_cannot_grow_is_reported_and_keeps_no_gang_from_starting(
    server: ApiServer, kubelet: Kubelet, connect: Connect
) -> None:
    spec = replace(gang(), api_url="https://mlhub.example.org")
    connect(checkpoint_bytes=2**30).launch(spec)
    server.refuse = lambda plural, body: (
        "only dynamically provisioned pvc can be resized" if plural == "persistentvolumeclaims" else ""
    )
    larger = connect(checkpoint_bytes=2**40)
    larger.launch(replace(gang(slots=(1,)), api_url="https://mlhub.example.org"))
    larger.observe()
    [item] = larger.quarantined()
    assert "dynamically provisioned" in item.reason
    smaller = connect(checkpoint_bytes=2**20)
    smaller.observe()
    assert smaller.quarantined() == ()


def test_the_way_in_which_a_server_writes_quantities_is_no_drift() -> None:
    made = tenancy.contents("ns", KubernetesOptions(project_pods=1000, checkpoint_bytes=2**40), api_url="https://a.b")
    for wanted in made:
        assert not differs(wanted, wanted)
    quota = next(m for m in made if m["kind"] == "ResourceQuota")
    shown = {**quota, "spec": {"hard": {**quota["spec"]["hard"], "pods": "1k"}}, "status": {"used": {"pods": "3"}}}
    assert not differs(shown, quota)
    claim = next(m for m in made if m["kind"] == "PersistentVolumeClaim")
    bound = {**claim, "spec": {**claim["spec"], "volumeName": "pv", "resources": {"requests": {"storage": "1Ti"}}}}
    assert not differs(bound, claim)
    assert differs({**bound, "spec": {**bound["spec"], "resources": {"requests": {"storage": "1Gi"}}}}, claim)
