# SPDX-License-Identifier: Apache-2.0
"""The chart's account, rights and admission policies on a real API server, as its rendering for a trial has them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import yaml

from deploy.helm.render import NAMESPACE, RENDERED
from mlhub.backends.kubernetes.check.installation import RBAC, uninstall
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.options import KubernetesOptions

ACCOUNT = "mlhub"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PLACES = {
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "ValidatingAdmissionPolicy": f"{ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ADMISSION}/validatingadmissionpolicybindings",
}
IN_FORCE_S, LOOK_EVERY_S = 60.0, 0.2


@contextlib.contextmanager
def access_of_the_chart(admin: KubernetesApi, options: KubernetesOptions) -> Iterator[str]:
    """A token of the control loop's account, once its policies are in force. Needs a cluster without an MLHub."""
    found = list(yaml.load_all((RENDERED / "trial.yaml").read_text(), Loader=yaml.CSafeLoader))
    home = f"{paths.NAMESPACES}/{NAMESPACE}"
    made = [o for o in found if o["kind"] in PLACES]
    with contextlib.suppress(KubeNotFoundError):
        admin.get(home)
        raise AssertionError(f"The cluster has a namespace {NAMESPACE}, of an MLHub or of a run that was killed.")
    try:
        admin.create(paths.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for manifest in made:
            with contextlib.suppress(KubeConflictError):
                admin.create(PLACES[manifest["kind"]], manifest)
        token = token_of(admin)
        _wait_until_in_force(KubernetesApi(lambda: connection(options, token=token), timeout_s=10.0))
        yield token
    finally:
        for manifest in made:
            admin.delete(f"{PLACES[manifest['kind']]}/{manifest['metadata']['name']}")
        admin.delete(home)
        left = uninstall(admin, prefix="mlhub")
        _wait_until_gone(admin, home)
    assert left == []


def token_of(admin: KubernetesApi) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(admin.create(f"{PLACES['ServiceAccount']}/{ACCOUNT}/token", request)["status"]["token"])


def _wait_until_in_force(account: KubernetesApi) -> None:
    """API servers take new policies on all at once, about a second after they were made."""
    stray = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mlhub-x"}}
    until = time.monotonic() + IN_FORCE_S
    said = "it was admitted"
    while "ValidatingAdmissionPolicy" not in said:
        assert time.monotonic() < until, f"The policies are not in force: {said}"
        time.sleep(LOOK_EVERY_S)
        try:
            account.create(paths.collection("Secret", "default"), stray, dryRun="All")
        except ApiError as error:
            said = str(error)
    time.sleep(2.0)


def _wait_until_gone(admin: KubernetesApi, namespace: str) -> None:
    until = time.monotonic() + IN_FORCE_S
    with contextlib.suppress(KubeNotFoundError):
        while admin.get(namespace):
            assert time.monotonic() < until, f"{namespace} is still being terminated."
            time.sleep(LOOK_EVERY_S)
