# SPDX-License-Identifier: Apache-2.0
"""Drift, refusals and look-alikes on a real API server, where MLHUB_TEST_KUBECONFIG names one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, KubeNotFoundError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import tenancy
from mlhub.backends.protocol import GangPhase, LaunchError
from mlhub.wire.launch import LaunchSpec
from tests.backends.kubernetes import real
from tests.backends.kubernetes.gangs import of, reach, wait
from tests.backends.kubernetes.real_access import PLACES
from tests.backends.specs import gang

pytestmark = pytest.mark.skipif(not real.is_there(), reason=f"{real.VARIABLE} names no API server")
LABELS = {"organisation": "acme", "project": "signs", "project_id": "018f0000-0000-7000-8000-0000000000bb"}
HOME = f"mlhub-{LABELS['project_id']}"
API_URL = "https://mlhub.example.org"
HOUSE_RULE = "not in the evening"
POD = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
    "serviceAccountName": "mlhub-pods",
    "containers": [
        {
            "name": "x",
            "image": "x",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}


@pytest.fixture
def admin() -> KubernetesApi:
    return KubernetesApi(lambda: connection(KubernetesOptions(kubeconfig=os.environ[real.VARIABLE])), timeout_s=10.0)


@pytest.fixture
def backend() -> Iterator[KubernetesBackend]:
    yield from real.backend_on_it()


def launched(backend: KubernetesBackend, *, slots: tuple[int, ...] = (0,)) -> LaunchSpec:
    spec = replace(gang(slots=slots), labels=LABELS, api_url=API_URL)
    backend.launch(spec)
    reach(backend, spec, GangPhase.RUNNING)
    return spec


DRIFTS: list[tuple[str, str, dict[str, Any]]] = [
    ("NetworkPolicy", tenancy.DEFAULT_DENY, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
    ("NetworkPolicy", tenancy.ALLOWED, {"spec": {"egress": [{}]}}),
    ("ResourceQuota", tenancy.LIMITS, {"spec": {"hard": {"services.loadbalancers": "5"}}}),
    ("LimitRange", tenancy.LIMITS, {"spec": {"limits": []}}),
    ("ServiceAccount", "mlhub-pods", {"automountServiceAccountToken": True}),
]


def test_what_holds_a_project_together_is_corrected_made_again_and_otherwise_left_alone(
    backend: KubernetesBackend, admin: KubernetesApi
) -> None:
    launched(backend)
    places = [paths.one(kind, HOME, name) for kind, name, _ in DRIFTS]
    before = {path: kept(admin, path) for path in places}
    versions = {path: admin.get(path)["metadata"]["resourceVersion"] for path in places}
    for _ in range(5):
        backend.observe()
    assert {path: admin.get(path)["metadata"]["resourceVersion"] for path in places} == versions

    def is_as_it_was() -> bool:
        backend.observe()
        return {path: kept(admin, path) for path in places} == before

    for path, (_, _, change) in zip(places, DRIFTS, strict=True):
        admin.patch(path, change)
    assert all(kept(admin, path) != before[path] for path in places)
    wait(is_as_it_was)
    for path in places:
        admin.delete(path)
    wait(is_as_it_was)  # within a minute, since they were corrected just now


def kept(admin: KubernetesApi, path: str) -> Any:
    try:
        found = admin.get(path)
    except KubeNotFoundError:
        return None
    return found.get("spec"), found.get("automountServiceAccountToken"), found["metadata"]["labels"]


@contextlib.contextmanager
def in_force(admin: KubernetesApi, name: str) -> Iterator[None]:
    """A rule of the house that refuses the pods of one attempt, once the API server obeys it."""
    rule = house_rule(name)
    probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"x-{name}"}, "spec": POD}
    try:
        for body in rule:
            admin.create(PLACES[body["kind"]], body)
        wait(lambda: HOUSE_RULE in dry_run(admin, probe))
        yield
    finally:
        for body in rule:
            admin.delete(f"{PLACES[body['kind']]}/{body['metadata']['name']}")


def dry_run(admin: KubernetesApi, body: Object) -> str:
    try:
        admin.create(paths.collection("Pod", HOME), body, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def house_rule(name: str) -> list[Object]:
    metadata = {"name": "house-rule-of-a-test"}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": f"!object.metadata.name.contains('{name}')", "message": HOUSE_RULE}],
    }
    binding = {"policyName": metadata["name"], "validationActions": ["Deny"]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": metadata}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": policy},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def test_a_policy_that_refuses_one_pod_costs_its_gang_alone(backend: KubernetesBackend, admin: KubernetesApi) -> None:
    first = launched(backend)
    specs = [replace(gang(slots=(i,)), labels=LABELS, api_url=API_URL) for i in range(1, 4)]
    refused = specs[1]
    with in_force(admin, refused.attempt_id):
        failed = backend.launch_all(specs)
    assert list(failed) == [refused.attempt_id]
    assert isinstance(failed[refused.attempt_id], LaunchError)
    assert HOUSE_RULE in str(failed[refused.attempt_id])
    assert of(backend, refused) is None
    for spec in (first, specs[0], specs[2]):
        reach(backend, spec, GangPhase.RUNNING)


@pytest.mark.parametrize("annotation", ["{", "[]", "null", '{"pods": 7}', "x" * 10_000])
def test_look_alikes_are_left_alone_and_cost_nothing(
    backend: KubernetesBackend, admin: KubernetesApi, annotation: str
) -> None:
    spec = launched(backend)
    record = next(s for s in admin.list(paths.SERVICES, labelSelector=paths.OURS)[0])
    garbage = dict.fromkeys(record["metadata"]["annotations"], annotation)
    for place in ("default", HOME):
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "mlhub-look-alike", "labels": record["metadata"]["labels"], "annotations": garbage},
            "spec": {"clusterIP": "None", "ports": [{"port": 80}]},
        }
        admin.create(paths.collection("Service", place), body)
    try:
        wait(lambda: [backend.observe()] and len(backend.quarantined()) >= 1)
        reach(backend, spec, GangPhase.RUNNING)
        backend.stop(spec.attempt_id, grace_s=1)
        reach(backend, spec, GangPhase.STOPPED)
        for place in ("default", HOME):
            assert admin.get(paths.one("Service", place, "mlhub-look-alike"))["metadata"]["annotations"] == garbage
    finally:
        for place in ("default", HOME):
            admin.delete(paths.one("Service", place, "mlhub-look-alike"))
