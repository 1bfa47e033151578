# SPDX-License-Identifier: Apache-2.0
"""Addresses of the API's objects: one line a kind."""

from __future__ import annotations

from typing import Any

from mlhub.backends.kubernetes import names

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
SERVICES = "/api/v1/services"
NAMESPACES = "/api/v1/namespaces"
EVENTS = "/api/v1/events"
OURS = f"{names.ATTEMPT}"  # label selectors: of any attempt, and of none
NOT_OURS = f"!{names.ATTEMPT}"
OF_PROJECTS = f"app.kubernetes.io/managed-by=mlhub,!{names.ATTEMPT}"  # what projects' namespaces hold for all gangs

_GROUPS = {
    "Pod": ("/api/v1", "pods"),
    "Service": ("/api/v1", "services"),
    "Secret": ("/api/v1", "secrets"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "LimitRange": ("/api/v1", "limitranges"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Event": ("/api/v1", "events"),
    "Job": ("/apis/batch/v1", "jobs"),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies"),
}


def everywhere(kind: str) -> str:
    """The list over all namespaces."""
    group, plural = _GROUPS[kind]
    return f"{group}/{plural}"


def collection(kind: str, namespace: str) -> str:
    group, plural = _GROUPS[kind]
    return f"{group}/namespaces/{namespace}/{plural}"


def one(kind: str, namespace: str, name: str) -> str:
    return f"{collection(kind, namespace)}/{name}"


def collection_of(manifest: dict[str, Any]) -> str:
    return collection(manifest["kind"], manifest["metadata"]["namespace"])


def of(found: dict[str, Any], kind: str) -> str:
    return one(kind, found["metadata"]["namespace"], found["metadata"]["name"])
