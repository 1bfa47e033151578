# SPDX-License-Identifier: Apache-2.0
"""The rights that the backend needs, no more: the chart grants this list, tests and `make kube-check` hold us to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AccessRule:
    """One line of the ClusterRole. why: for the administrator who reads it."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str

    def to_rbac(self) -> dict[str, list[str]]:
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": list(self.verbs)}


APPLIED = ("create", "list", "watch", "patch")  # of what a project's namespace holds: seen, and corrected

RULES = (
    AccessRule("", "nodes", ("list", "watch"), "the inventory"),
    AccessRule(
        "", "pods", ("create", "get", "list", "watch", "patch", "delete"), "gangs' members; what others' pods take"
    ),
    AccessRule("", "pods/log", ("get",), "output of pods that shipped none"),
    AccessRule(
        "", "services", ("create", "get", "list", "watch", "patch", "delete"), "gangs' records and their pods' names"
    ),
    AccessRule("", "secrets", ("create", "delete"), "a gang's specification, token and secret; never read back"),
    AccessRule("", "events", ("list", "watch"), "why a pod does not start"),
    AccessRule(
        "", "namespaces", ("create", "get", "list", "watch", "patch"), "one for each project; whether it is MLHub's own"
    ),
    AccessRule("", "serviceaccounts", APPLIED, "one without rights for a project's pods"),
    AccessRule("", "resourcequotas", APPLIED, "a project's limits"),
    AccessRule("", "limitranges", APPLIED, "limits for pods that name none"),
    AccessRule("", "persistentvolumeclaims", APPLIED, "a project's checkpoints and input cache"),
    AccessRule(
        "resource.k8s.io",
        "resourceclaims",
        ("create", "get", "list", "patch", "delete"),
        "GPUs that jobs hold and share, where the cluster has dynamic resource allocation",
    ),
    AccessRule("resource.k8s.io", "resourceslices", ("list",), "which GPUs there are to claim"),
    AccessRule("batch", "jobs", ("create", "get", "list", "watch", "patch", "delete"), "runs of uploaded code"),
    AccessRule("networking.k8s.io", "networkpolicies", (*APPLIED, "delete"), "silence between gangs and projects"),
)
