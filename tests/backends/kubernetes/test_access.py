# SPDX-License-Identifier: Apache-2.0
"""Tests of the rights: the backend works under the chart's policies, and no right is granted that it never uses."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.protocol import BackendUnavailableError, GangPhase, LaunchError
from mlhub.wire.launch import PodRole
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import ours, pods, reach, wait
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.kubernetes.store import Object, RefusedError, Store, merged
from tests.backends.kubernetes.test_sharing import offer_by_driver
from tests.backends.specs import SANDBOX_RUN, gang
from tests.deploy.admission import AdmissionPolicies, WriteRequest
from tests.deploy.writes import rendered

LABELS = {"organisation": "acme", "project": "signs", "project_id": "018f0000-0000-7000-8000-0000000000bb"}
HOME = f"mlhub-{LABELS['project_id']}"
GROUPS = {"networkpolicies": "networking.k8s.io", "resourceclaims": "resource.k8s.io", "jobs": "batch"}
POLICIES = AdmissionPolicies(rendered("trial"))


class GuardedStore:
    """The fake cluster's store as the API server reaches it: every write is first shown to the chart's policies."""

    def __init__(self, store: Store) -> None:
        self.bare = store
        self.n_admitted = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)

    def create(self, plural: str, namespace: str, body: Object, **options: Any) -> Object:
        self._admit("CREATE", plural, namespace, body, None)
        return self.bare.create(plural, namespace, body, **options)

    def apply(self, plural: str, namespace: str, name: str, body: Object, **options: Any) -> Object:
        before = self.bare.objects.get((plural, namespace, name))
        after = body if before is None else merged(before, body)
        self._admit("CREATE" if before is None else "UPDATE", plural, namespace, after, before)
        return self.bare.apply(plural, namespace, name, body, **options)

    def patch(self, plural: str, namespace: str, name: str, change: Object, **options: Any) -> Object:
        before = self.bare.get(plural, namespace, name)
        self._admit("UPDATE", plural, namespace, merged(before, change), before)
        return self.bare.patch(plural, namespace, name, change, **options)

    def delete(self, plural: str, namespace: str, name: str, *rest: Any, **options: Any) -> Object:
        self._admit("DELETE", plural, namespace, None, self.bare.get(plural, namespace, name))
        return self.bare.delete(plural, namespace, name, *rest, **options)

    def _admit(self, operation: str, plural: str, namespace: str, body: Object | None, before: Object | None) -> None:
        home = self.bare.objects.get(("namespaces", "", namespace)) if namespace else None
        asked = WriteRequest(operation, plural, body, before, home, group=GROUPS.get(plural, ""))
        refusals = POLICIES.refusals(asked)
        if refusals:
            raise RefusedError(403, f"ValidatingAdmissionPolicy denied request: {refusals[0]}", "Forbidden")
        self.n_admitted += 1


@pytest.fixture
def guarded(server: ApiServer, kubelet: Kubelet) -> GuardedStore:
    found = GuardedStore(server.store)
    server.store = found  # type: ignore[assignment]
    return found


def loosen(store: Store) -> None:
    """By hand; the backend puts it right."""
    change = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    store.patch("namespaces", "", HOME, change)


def is_restricted(store: Store) -> bool:
    labels = store.get("namespaces", "", HOME)["metadata"]["labels"]
    return bool(labels["pod-security.kubernetes.io/enforce"] == "restricted")


@pytest.mark.slow
def test_gangs_run_and_end_under_the_policies(
    server: ApiServer, guarded: GuardedStore, connect: Callable[..., KubernetesBackend]
) -> None:
    backend = connect(unschedulable_after_s=0.0, checkpoint_bytes=2**30, storage_class="")
    spec = replace(gang(workers=2, servers=1), labels=LABELS)
    backend.launch(spec)
    reach(backend, spec, GangPhase.RUNNING)
    assert {pod["metadata"]["namespace"] for pod in pods(server)} == {HOME}
    backend.sweep_checkpoints(LABELS, ended=[spec.job_id], older_than_s=60.0)
    loosen(guarded.bare)
    wait(lambda: backend.observe() and is_restricted(guarded.bare))
    backend.stop(spec.attempt_id, grace_s=1)
    reach(backend, spec, GangPhase.STOPPED, GangPhase.FAILED)
    backend.stop(spec.attempt_id, grace_s=1)
    assert ours(server) == []
    assert guarded.n_admitted > 15


def test_a_gang_outside_of_the_prefix_is_refused(
    server: ApiServer, guarded: GuardedStore, connect: Callable[..., KubernetesBackend]
) -> None:
    backend = connect(namespace_prefix="kube")
    with pytest.raises((BackendUnavailableError, LaunchError), match="denied request"):
        backend.launch(replace(gang(), labels=LABELS))
    assert guarded.n_admitted == 0
    assert ours(server) == []


def run_rights_test(server: ApiServer, folder: Path) -> subprocess.CompletedProcess[str]:
    """What `helm test` runs in a pod with the control loop's account, as the chart renders it."""
    [pod] = [o for o in rendered("trial") if o["kind"] == "Pod" and o["metadata"]["name"].endswith("-rights")]
    assert pod["spec"]["serviceAccountName"] == "mlhub"
    _, *arguments = pod["spec"]["containers"][0]["command"]
    (folder / "token").write_text("the-accounts-token")
    environment = {**os.environ, "MLHUB_ACCOUNT_FOLDER": str(folder), "KUBERNETES_SERVICE_HOST": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**environment, "MLHUB_API_SERVER": f"http://127.0.0.1:{server.port}"},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def refused_by_policies(plural: str, body: Object) -> str:
    home = {"metadata": {"name": "default", "labels": {}}}
    refusals = POLICIES.refusals(WriteRequest("CREATE", plural, body, None, None if plural == "namespaces" else home))
    return f"ValidatingAdmissionPolicy 'mlhub-mlhub-scope' denied request: {refusals[0]}" if refusals else ""


def test_helm_test_finds_the_policies_in_force(server: ApiServer, tmp_path: Path) -> None:
    server.refuse = refused_by_policies
    before = set(server.store.objects)
    done = run_rights_test(server, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "The admission policies are in force."), done.stderr
    assert set(server.store.objects) == before


def test_helm_test_fails_where_no_policy_is_in_force(server: ApiServer, tmp_path: Path) -> None:
    done = run_rights_test(server, tmp_path)
    assert done.returncode == 1
    assert "a pod in kube-system was admitted" in done.stdout
    assert "no admission policy refused anything" in done.stdout


def test_helm_test_fails_where_mlhub_could_not_work(server: ApiServer, tmp_path: Path) -> None:
    server.refuse = lambda plural, body: "ValidatingAdmissionPolicy 'x' denied request: everything"
    done = run_rights_test(server, tmp_path)
    assert done.returncode == 1
    assert "a project's namespace was refused" in done.stdout


@pytest.mark.slow
def test_no_right_is_granted_that_the_backend_never_uses(server: ApiServer, kubelet: Kubelet, tmp_path: Path) -> None:
    """The other direction, that nothing is used without a right, holds in every test: the fake server answers 403."""
    offer_by_driver(server)
    hours = [0.0]
    limits: list[int | None] = [4, None]
    options = KubernetesOptions(
        kubeconfig=server.kubeconfig(tmp_path),
        request_timeout_s=60.0,
        unschedulable_after_s=0.0,
        checkpoint_bytes=2**30,
    )
    backend = KubernetesBackend(
        KubernetesApi(lambda: connection(options), timeout_s=options.request_timeout_s),
        options,
        gpu_limit_of=lambda _: limits[0],
        now=lambda: datetime.now(UTC) + timedelta(hours=hours[0]),
    )
    first, second, stuck = (replace(gang(behave), labels=LABELS) for behave in ("run", "run", "quiet"))
    stuck = replace(stuck, pods=tuple(replace(pod, node="node-2") for pod in stuck.pods))
    for lost in ("/api/v1/namespaces", "/services", "/pods"):  # answers that are lost: what is there is read instead
        server.fail(500, times=1, only="POST", path=lost, acts=True)
    backend.launch(first)
    limits.pop(0)  # the project's limit is lifted
    server.fail(409, times=1, only="PATCH", path="/resourceclaims")  # changed by another client: the claim is read
    backend.launch(second)
    reach(backend, first, GangPhase.RUNNING)
    list(backend.logs(first.attempt_id, role=PodRole.WORKER, index=0))
    backend.sweep_checkpoints(LABELS, ended=[first.job_id], older_than_s=60.0)
    loosen(server.store)
    wait(lambda: backend.observe() and is_restricted(server.store))
    backend.launch(stuck)
    hours[0] = 0.01  # pods that did not begin are asked why only after a while
    backend.observe()
    for spec in (first, second, stuck):
        backend.stop(spec.attempt_id, grace_s=1)
        reach(backend, spec, GangPhase.STOPPED, GangPhase.FAILED)
        backend.stop(spec.attempt_id, grace_s=1)
    run = replace(SANDBOX_RUN, labels=LABELS)
    for _ in range(2):  # of the second time, what is there is read
        assert backend.start_sandbox_runs([run]) == {}
    wait(backend.observe_sandbox_runs)
    backend.remove_sandbox_runs([run.run_id])
    backend.close()
    granted = {(verb, rule.group, rule.resource) for rule in RULES for verb in rule.verbs}
    assert granted - set(server.asked) == set()
