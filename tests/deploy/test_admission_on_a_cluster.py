# SPDX-License-Identifier: Apache-2.0
"""The same escalations against a real API server, where MLHUB_TEST_KUBECONFIG names one: as dry runs, by the account.

Once with the chart's rights; once with all rights there are, so that only policies and Pod Security stand in the way.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from kubernetes import client

from mlhub.backends.kubernetes.check.installation import RBAC
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import KubeConflictError, KubeNotFoundError, message_of
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs.tenancy import contents
from tests.backends.kubernetes import real
from tests.backends.kubernetes.real_access import access_of_the_chart
from tests.deploy.admission import Object, WriteRequest
from tests.deploy.escalations import ADMIN, ATTEMPTS
from tests.deploy.writes import POLICIES, TRIAL, create, namespace, objects

pytestmark = pytest.mark.skipif(not real.is_there(), reason=f"{real.VARIABLE} names no API server")
POLICY, POD_SECURITY = "ValidatingAdmissionPolicy", "violates PodSecurity"
JSON_PATCH = "application/json-patch+json"
SEEN_S = 1.5  # until policies read what was changed of a namespace
WIDENING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "mlhub-test-widened"},
    **ADMIN,
}
RUNTIME = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "runc-privileged"},
    "handler": "runc",
}
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"


@dataclass(frozen=True)
class DryRunAnswer:
    status: int
    message: str

    @property
    def is_refused(self) -> bool:
        return self.status >= 400


class AskedCluster:
    """An administrator, who makes what an attempt is about, and the account that tries it."""

    def __init__(self, options: KubernetesOptions, admin: KubernetesApi, token: str) -> None:
        self.admin = admin
        self.account, self.administrator = connection(options, token=token), connection(options)
        self._before: dict[str, dict[str, str]] = {}  # labels of namespaces that were there

    def asks(self, asked: WriteRequest, *, by: client.ApiClient | None = None) -> DryRunAnswer:
        """As a dry run."""
        self._prepare(asked)
        verb, path, query, body, content_type = _http(asked)
        answer = (by or self.account).rest_client.pool_manager.request(
            verb,
            f"{self.account.configuration.host}{path}?{urlencode(query, doseq=True)}",
            body=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type, **_authorization(by or self.account)},
        )
        return DryRunAnswer(answer.status, message_of(answer.status, answer.data) if answer.status >= 400 else "")

    def may(self, verb: str, group: str, resource: str) -> bool:
        """The account, by the rights that it was granted."""
        review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
        body = {**review, "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource}}}
        url = f"{self.account.configuration.host}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        headers = {"Content-Type": "application/json", **_authorization(self.account)}
        answer = self.account.rest_client.pool_manager.request("POST", url, body=json.dumps(body), headers=headers)
        return bool(json.loads(answer.data)["status"]["allowed"])

    def _prepare(self, asked: WriteRequest) -> None:
        """What the attempt finds: the namespace as it is given, and the object that is to be changed."""
        if asked.namespace is not None:
            self.have_namespace(asked.namespace)
        if asked.before is not None:
            before = {**asked.before, "metadata": {**asked.before["metadata"]}}
            for key in ("finalizers", "ownerReferences", "uid", "namespace"):
                before["metadata"].pop(key, None)
            if asked.resource == "namespaces":
                self.have_namespace(before)
                return
            if asked.resource == "pods":  # as another attempt found it
                self.admin.delete(f"{_collection(asked, of=before)}/{before['metadata']['name']}", grace_s=0)
            with contextlib.suppress(KubeConflictError):
                self.admin.create(_collection(asked, of=before), before)

    def have_namespace(self, wanted: Object) -> None:
        name = wanted["metadata"]["name"]
        path = f"{paths.NAMESPACES}/{name}"
        labels = wanted["metadata"].get("labels") or {}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", **_named("mlhub-pods")}
        try:
            found = self.admin.get(path)
        except KubeNotFoundError:
            found = self.admin.create(
                paths.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
            for manifest in contents(name, TRIAL, api_url="https://mlhub.example.org", has_claims=True):
                self.admin.apply(paths.one(manifest["kind"], name, manifest["metadata"]["name"]), manifest)
            time.sleep(SEEN_S)
        if path not in self._before:  # a pod without its account is refused before any policy is asked
            with contextlib.suppress(KubeConflictError):
                self.admin.create(paths.collection("ServiceAccount", name), account)
        has = {key: value for key, value in found["metadata"]["labels"].items() if key != "kubernetes.io/metadata.name"}
        self._before.setdefault(path, has)
        if has != labels:
            self._label(path, labels, has)
            time.sleep(SEEN_S)

    def _label(self, path: str, labels: dict[str, str], has: dict[str, str]) -> None:
        gone = dict.fromkeys(set(has) - set(labels))
        self.admin.patch(path, {"metadata": {"labels": {**labels, **gone}}})

    def clean(self) -> None:
        for path, labels in self._before.items():
            found = self.admin.get(path)["metadata"]["labels"]
            has = {key: value for key, value in found.items() if key != "kubernetes.io/metadata.name"}
            if path.endswith(("/default", "/kube-system", "/mlhub")):
                self._label(path, labels, has)
                self.admin.delete(paths.one("ServiceAccount", path.rpartition("/")[2], "mlhub-pods"))
            else:
                self.admin.delete(path)


def _named(name: str) -> Object:
    return {"metadata": {"name": name}}


def _authorization(of: client.ApiClient) -> dict[str, str]:
    found = of.configuration.auth_settings().get("BearerToken")
    return {"Authorization": str(found["value"])} if found else {}


def _collection(asked: WriteRequest, *, of: Object) -> str:
    group = asked.group or (of["apiVersion"].partition("/")[0] if "/" in of["apiVersion"] else "")
    version = of["apiVersion"].rpartition("/")[2]
    base = f"/apis/{group}/{version}" if group else "/api/v1"
    where = f"/namespaces/{asked.namespace['metadata']['name']}" if asked.namespace is not None else ""
    return f"{base}{where}/{asked.resource}"


def _http(asked: WriteRequest) -> tuple[str, str, dict[str, Any], Object | list[Object] | None, str]:
    query: dict[str, Any] = {"dryRun": "All"}
    found = _body(asked)
    if asked.subresource:
        named = asked.before or found
        path = f"/api/v1/namespaces/{asked.namespace['metadata']['name']}/{asked.resource}/{named['metadata']['name']}"
        path = f"{path}/{asked.subresource}"
        if asked.operation == "CONNECT":
            return "POST", path, {"command": found["command"], "stdout": "true"}, None, "application/json"
        if asked.operation == "UPDATE":
            return "PATCH", path, query, _changes(asked.before, asked.object), JSON_PATCH
        return "POST", path, query, found, "application/json"
    if asked.operation == "CREATE":
        return "POST", _collection(asked, of=found), query, found, "application/json"
    path = f"{_collection(asked, of=asked.before)}/{asked.before['metadata']['name']}"
    if asked.operation == "DELETE":
        return "DELETE", path, query, None, "application/json"
    return "PATCH", path, query, _changes(asked.before, asked.object), JSON_PATCH


def _body(asked: WriteRequest) -> Object:
    """The object where the request puts it: evaluated attempts leave it in the project that it was made for."""
    found = copy.deepcopy(asked.object or {})
    metadata = found.get("metadata", {})
    metadata.pop("uid", None)
    if "namespace" in metadata and asked.namespace is not None:
        metadata["namespace"] = asked.namespace["metadata"]["name"]
    return found


def _changes(before: Any, after: Any, at: str = "") -> list[Object]:
    """As a JSON patch, which leaves alone what the server added."""
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [{"op": "remove", "path": f"{at}/{_escaped(key)}"} for key in set(before) - set(after)]
        rest = [_changes(before.get(key), value, f"{at}/{_escaped(key)}") for key, value in after.items()]
        return gone + [step for steps in rest for step in steps]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [step for i, one in enumerate(after) for step in _changes(before[i], one, f"{at}/{i}")]
    return [] if before == after else [{"op": "add", "path": at, "value": after}]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


@pytest.fixture(scope="module", params=["with the chart's rights", "with all rights"])
def cluster(request: pytest.FixtureRequest) -> Iterator[AskedCluster]:
    options = KubernetesOptions(kubeconfig=os.environ[real.VARIABLE])
    admin = KubernetesApi(lambda: connection(options), timeout_s=10.0)
    with access_of_the_chart(admin, options) as token:
        found = AskedCluster(options, admin, token)
        admin.create(RUNTIMES, RUNTIME)
        try:
            if request.param == "with all rights":
                admin.create(f"{RBAC}/clusterrolebindings", WIDENING)
            until = time.monotonic() + 30
            while found.may("create", "apps", "deployments") != (request.param == "with all rights"):
                assert time.monotonic() < until
                time.sleep(0.2)
            yield found
        finally:
            admin.delete(f"{RUNTIMES}/{RUNTIME['metadata']['name']}")
            admin.delete(f"{RBAC}/clusterrolebindings/{WIDENING['metadata']['name']}")
            found.clean()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_escalation_is_refused(cluster: AskedCluster, attempt: str) -> None:
    answer = cluster.asks(ATTEMPTS[attempt]())
    assert answer.is_refused
    evaluated = POLICIES["trial"].refusals(ATTEMPTS[attempt]())
    print(f"{attempt}: {answer.status} {answer.message[:300]}")
    if POLICY in answer.message:
        assert any(message in answer.message for message in evaluated)
    else:
        assert answer.status == 403
        assert POD_SECURITY in answer.message or not cluster.may("create", "apps", "deployments")


def test_what_mlhub_makes_is_admitted(cluster: AskedCluster) -> None:
    asked = [create(namespace()), *(create(found) for found in objects() if found["kind"] != "ResourceClaim")]
    refused = {}
    for one in asked:
        answer = cluster.asks(one)
        if answer.is_refused and "already exists" not in answer.message:
            refused[one.resource, one.object["metadata"]["name"]] = answer.message
    assert refused == {}
