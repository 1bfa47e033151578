# SPDX-License-Identifier: Apache-2.0
"""A gang as Kubernetes objects: LaunchSpec in, dictionaries out. Pure, so that golden files can show it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Manifest
from mlhub.backends.kubernetes.names import GangNames
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import in_place
from mlhub.backends.kubernetes.specs.containers import (
    ACCOUNT,
    CHECKPOINTS,
    claim_reference,
    main_container,
    own_image,
    pod_security,
    prepare_container,
    volumes,
)
from mlhub.backends.kubernetes.specs.gpus import AMD, GpuOffer
from mlhub.wire.launch import Input, LaunchSpec, PodPlacement

LEAVE_A_SICK_NODE_AFTER_S = 30


def record(spec: LaunchSpec, gang: GangNames) -> Manifest:
    """The headless service that names the pods; made first and removed last, it is also the gang's record."""
    members = {
        "pods": [[p.role, p.index, p.node] for p in spec.pods],
        "start_timeout_s": spec.start_timeout_s,
        **({"survives_lost_workers": True} if spec.survives_lost_workers else {}),
    }
    metadata = _metadata(spec, gang, gang.name)
    metadata["annotations"] |= {names.GANG: json.dumps(members, sort_keys=True)}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,  # members look each other up before they are ready
            "selector": {names.ATTEMPT: spec.attempt_id},
            "ports": [{"name": "rendezvous", "port": names.MASTER_PORT, "protocol": "TCP"}],
        },
    }


def secret(spec: LaunchSpec, gang: GangNames, options: KubernetesOptions) -> Manifest:
    """What only this attempt's pods may read: what to do, its token, the gang's shared secret and the user's secrets.

    mlhub/runtime/launcher/prepare.py makes each pod's own PodSpec of launch.json, which has no secrets in it, and
    addresses.json. One object: each costs every launch a request, and every node a watch.
    """
    addresses = {
        "master": names.master_address(gang),
        "servers": list(names.server_addresses(spec, gang)),
        "members": names.barrier_addresses(spec, gang),
    }
    texts = {
        "token": spec.token,
        "secret": spec.gang_secret,
        "secrets.json": json.dumps(spec.secrets, sort_keys=True),
        "launch.json": _as_pods_see_it(spec, options).to_json(),
        "addresses.json": json.dumps(addresses, sort_keys=True),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(spec, gang, gang.name),
        "type": "Opaque",
        "immutable": True,
        "data": {name: _base64(text) for name, text in texts.items()},
    }


def network_policy(spec: LaunchSpec, gang: GangNames) -> Manifest:
    """A gang talks within itself; the namespace's own policy (tenancy.py) allows names and the ingest address."""
    members = {"podSelector": {"matchLabels": {names.ATTEMPT: spec.attempt_id}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(spec, gang, gang.name),
        "spec": {
            **members,
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [members]}],
            "egress": [{"to": [members]}],
        },
    }


def pod(
    spec: LaunchSpec,
    placement: PodPlacement,
    gang: GangNames,
    options: KubernetesOptions,
    *,
    offer: GpuOffer | None = None,
    claims: Mapping[tuple[str, int], str] = MappingProxyType({}),
) -> Manifest:
    """One member, on its node and no other.

    offer: the GPUs of its node; None where slots are shares of the CPUs. claims: names, by node and slot, where GPUs
    are held by claims.
    """
    role, index = placement.role, placement.index
    metadata = _metadata(spec, gang, gang.pod(role, index))
    metadata["labels"] |= {names.ROLE: role.value, names.INDEX: str(index)}
    metadata["finalizers"] = [names.OBSERVED]
    if image := own_image(spec, placement):
        metadata["annotations"] |= {names.IMAGE: image}
    body: Manifest = {
        "schedulingGates": [{"name": names.GANG}],
        "restartPolicy": "Never",
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostname": gang.pod(role, index),
        "subdomain": gang.name,
        "terminationGracePeriodSeconds": 30,
        "affinity": {"nodeAffinity": _only(placement.node)},
        "tolerations": _tolerations(options),
        "securityContext": pod_security(),
        "initContainers": [prepare_container(spec, placement, options)],
        "containers": [main_container(spec, placement, gang, options, offer=offer)],
        "volumes": volumes(spec, placement, gang, options),
    }
    held = [(slot, claims[placement.node, slot]) for slot in placement.slots if (placement.node, slot) in claims]
    if held:
        body["resourceClaims"] = [{"name": claim_reference(slot), "resourceClaimName": name} for slot, name in held]
    if options.priority_class:
        body["priorityClassName"] = options.priority_class
    if options.runtime_class:
        body["runtimeClassName"] = options.runtime_class
    if options.image_pull_secret:
        body["imagePullSecrets"] = [{"name": options.image_pull_secret}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def owned_by(manifest: Manifest, owner: Manifest) -> Manifest:
    """The same object, to be collected by the cluster once its owner is gone."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}}


def _as_pods_see_it(spec: LaunchSpec, options: KubernetesOptions) -> LaunchSpec:
    """Without secrets; files of the platform's disk become addresses of the ingest API, and the job's own volume."""
    base = f"{options.api_url or spec.api_url}/api/v1/ingest/attempts/{spec.attempt_id}/blobs"

    def reachable(item: Input) -> Input:
        if in_place.is_in_place(item, options):
            return replace(item, uri=f"file://{in_place.path_of(item)}")
        is_ours = item.uri.startswith(("file:", f"{spec.api_url}/"))
        return replace(item, uri=f"{base}/{item.sha256}") if is_ours else item

    return replace(
        spec.without_secrets(),
        api_url=options.api_url or spec.api_url,
        inputs=tuple(reachable(item) for item in spec.inputs),
        checkpoint_uri=f"file://{CHECKPOINTS}/{spec.job_id}",
    )


def _metadata(spec: LaunchSpec, gang: GangNames, name: str) -> Manifest:
    tenant_names = {
        f"mlhub.dev/{key}-name": spec.labels[key] for key in ("organisation", "project", "job") if key in spec.labels
    }
    return {
        "name": name,
        "namespace": gang.namespace,
        "labels": {
            **names.MANAGED_BY,
            names.INSTALLATION: gang.installation,
            **names.project_labels(spec.labels),
            names.ATTEMPT: str(spec.attempt_id),
            names.JOB: spec.job_id,
        },
        "annotations": {**tenant_names, "mlhub.dev/attempt-number": str(spec.attempt_number)},
    }


def _only(node: str) -> Manifest:
    """By the node's name, not by its hostname label, which may lie."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}


def _tolerations(options: KubernetesOptions) -> list[Manifest]:
    sick = [
        {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": LEAVE_A_SICK_NODE_AFTER_S,
        }
        for key in ("not-ready", "unreachable")
    ]
    gpus = dict.fromkeys((options.gpu_resource, AMD))
    return [*({"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in gpus), *sick]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
