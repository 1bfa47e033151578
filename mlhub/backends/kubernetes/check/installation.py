# SPDX-License-Identifier: Apache-2.0
"""Grants the chart's rights to an account of the check's own, so that the check runs with them and with no others."""

from __future__ import annotations

import contextlib
import time

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.check.report import CheckReport
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.access import RULES, AccessRule
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.specs.claims import GROUP

NAME = "mlhub-check"
# of projects' namespaces: an MLHub that is at work on the cluster does not take them for its own
PREFIX = "check-mlhub"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{NAME}/serviceaccounts"
TOKEN_S = 3600
GONE_S, LOOK_EVERY_S = 60.0, 0.2  # a namespace is emptied by the cluster's controllers, which takes a while


def install(api: KubernetesApi, report: CheckReport) -> str:
    """A token of the account, or "" when the caller may not grant rights (the check then runs with the caller's)."""
    labels = {"labels": dict(names.MANAGED_BY)}
    role = {"kind": "ClusterRole", "name": NAME, "apiGroup": "rbac.authorization.k8s.io"}
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAME}
    wanted: list[tuple[str, str, str, Object]] = [
        (paths.NAMESPACES, "v1", "Namespace", {}),
        (ACCOUNTS, "v1", "ServiceAccount", {}),
        (
            f"{RBAC}/clusterroles",
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            {"rules": [r.to_rbac() for r in RULES]},
        ),
        (
            f"{RBAC}/clusterrolebindings",
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            {"roleRef": role, "subjects": [subject]},
        ),
    ]
    try:
        for path, version, kind, body in wanted:
            with contextlib.suppress(KubeConflictError):  # of a check that was killed
                api.create(path, {"apiVersion": version, "kind": kind, "metadata": {"name": NAME, **labels}, **body})
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_S},
        }
        token = str(api.create(f"{ACCOUNTS}/{NAME}/token", request)["status"]["token"])
    except ApiError as error:
        report.missing(f"The rights could not be installed, so your own are used: {error}")
        return ""
    report.ok(f"RBAC: {len(RULES)} rules installed; everything below runs with them and no others.")
    return token


def look_at_rights(api: KubernetesApi, report: CheckReport) -> None:
    """Asks the API server for each right of the list whether the account has it, and names those that are missing."""
    missing: list[str] = []
    for rule in RULES:
        if rule.group == "resource.k8s.io" and not _serves_claims(api):
            continue
        refused = [verb for verb in rule.verbs if not _may(api, verb, rule)]
        if refused:
            missing.append(
                f"{rule.resource}{f'.{rule.group}' if rule.group else ''}: {', '.join(refused)} ({rule.why})"
            )
    if missing:
        report.failed(f"Rights are missing, which the chart's ClusterRole grants. {'; '.join(missing)}.")
    else:
        report.ok("The account has each right that MLHub needs.")


def _may(api: KubernetesApi, verb: str, rule: AccessRule) -> bool:
    resource, _, part = rule.resource.partition("/")
    asked = {"verb": verb, "group": rule.group, "resource": resource, "subresource": part}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in asked.items() if value}},
    }
    answer = api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(answer.get("status", {}).get("allowed"))


def _serves_claims(api: KubernetesApi) -> bool:
    try:
        return bool(api.get(GROUP).get("versions"))
    except ApiError:
        return False


def uninstall(api: KubernetesApi, *, prefix: str) -> list[str]:
    """Removes the account, the rights and the check's projects, and waits until namespaces have gone.

    Returns what could not be removed, in words.
    """
    left: list[str] = []
    doomed = [f"{RBAC}/clusterrolebindings/{NAME}", f"{RBAC}/clusterroles/{NAME}", f"{paths.NAMESPACES}/{NAME}"]
    try:
        found, _ = api.list(paths.NAMESPACES, labelSelector=names.PROJECT)
        doomed += [
            f"{paths.NAMESPACES}/{n['metadata']['name']}"
            for n in found
            if n["metadata"]["name"].startswith(f"{prefix}-")
        ]
    except ApiError as error:
        left.append(f"the check's project namespaces ({error})")
    for path in doomed:
        try:
            api.delete(path)
        except ApiError as error:
            left.append(f"{path} ({error})")
    until = time.monotonic() + GONE_S
    for path in doomed:
        while not left and path.startswith(paths.NAMESPACES) and _is_there(api, path):
            if time.monotonic() > until:
                left.append(f"{path} (it is still being terminated)")
            time.sleep(LOOK_EVERY_S)
    return left


def _is_there(api: KubernetesApi, path: str) -> bool:
    try:
        api.get(path)
    except KubeNotFoundError:
        return False
    return True
