# SPDX-License-Identifier: Apache-2.0
"""Checks an object against the schema that the official client carries for its kind: names, types, what is required."""

from __future__ import annotations

import re
from typing import Any

from kubernetes import client
from pydantic import ValidationError

MODELS = {
    ("v1", "Pod"): "V1Pod",
    ("v1", "Service"): "V1Service",
    ("v1", "Secret"): "V1Secret",
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "Namespace"): "V1Namespace",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("v1", "ResourceQuota"): "V1ResourceQuota",
    ("v1", "LimitRange"): "V1LimitRange",
    ("v1", "PersistentVolumeClaim"): "V1PersistentVolumeClaim",
    ("resource.k8s.io/v1", "ResourceClaim"): "ResourceV1ResourceClaim",
    ("resource.k8s.io/v1beta2", "ResourceClaim"): "V1beta2ResourceClaim",
    ("resource.k8s.io/v1beta1", "ResourceClaim"): "V1beta1ResourceClaim",
    ("resource.k8s.io/v1", "ResourceSlice"): "V1ResourceSlice",
    ("resource.k8s.io/v1beta2", "ResourceSlice"): "V1beta2ResourceSlice",
    ("resource.k8s.io/v1beta1", "ResourceSlice"): "V1beta1ResourceSlice",
    ("apps/v1", "Deployment"): "V1Deployment",
    ("apps/v1", "StatefulSet"): "V1StatefulSet",
    ("batch/v1", "Job"): "V1Job",
    ("batch/v1", "CronJob"): "V1CronJob",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2HorizontalPodAutoscaler",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    ("networking.k8s.io/v1", "NetworkPolicy"): "V1NetworkPolicy",
    ("networking.k8s.io/v1", "Ingress"): "V1Ingress",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "V1ClusterRole",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "V1ClusterRoleBinding",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): "V1ValidatingAdmissionPolicy",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): "V1ValidatingAdmissionPolicyBinding",
    ("rbac.authorization.k8s.io/v1", "Role"): "V1Role",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "V1RoleBinding",
}


def problems(manifest: dict[str, Any]) -> list[str]:
    """What is wrong, each with its place; empty when the object is sound."""
    name = MODELS.get((manifest.get("apiVersion", ""), manifest.get("kind", "")))
    if name is None:
        return [f"no such kind: {manifest.get('apiVersion')} {manifest.get('kind')}"]
    found = _unknown(manifest, name, manifest["kind"])
    try:
        getattr(client, name).model_validate(manifest)
    except ValidationError as error:
        found += [f"{manifest['kind']}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return found


def _unknown(value: Any, kind: str, place: str) -> list[str]:
    """Fields that the schema does not have: an API server would drop them without a word."""
    if (match := re.fullmatch(r"List\[(\w+)\]", kind)) and isinstance(value, list):
        return [p for i, item in enumerate(value) for p in _unknown(item, match[1], f"{place}[{i}]")]
    if (match := re.fullmatch(r"Dict\[str, (\w+)\]", kind)) and isinstance(value, dict):
        return [p for key, item in value.items() for p in _unknown(item, match[1], f"{place}.{key}")]
    model = getattr(client, kind, None)
    if not isinstance(value, dict) or not hasattr(model, "openapi_types"):
        return []
    fields = {alias: name for name, alias in model.attribute_map.items()}
    found = [f"{place}.{name}: unknown field" for name in value if name not in fields]
    for name in value.keys() & fields.keys():
        found += _unknown(value[name], model.openapi_types[fields[name]], f"{place}.{name}")
    return found
