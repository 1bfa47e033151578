# SPDX-License-Identifier: Apache-2.0
"""A project's namespace: limits as a backstop, silence by default on the network, Pod Security `restricted`. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlparse

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Manifest
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs.containers import ACCOUNT, CACHE_CLAIM, CHECKPOINT_CLAIM
from mlhub.backends.kubernetes.specs.gpus import AMD

LIMITS, DEFAULT_DENY, ALLOWED = "mlhub-limits", "mlhub-default-deny", "mlhub-names-and-ingest"
SANDBOX = "mlhub-sandbox-runs"
PODS_WITHOUT_LIMITS_GET = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
NAMED = ("organisation", "project")
NODE_LOCAL_DNS = "169.254.20.10/32"


def namespace(labels: Mapping[str, str], options: KubernetesOptions, *, api_url: str = "") -> Manifest:
    """api_url: kept with it, so that any process can make the project's policies anew from the namespace alone."""
    security = {
        f"pod-security.kubernetes.io/{mode}{suffix}": value
        for mode in ("enforce", "warn", "audit")
        for suffix, value in (("", "restricted"), ("-version", "latest"))
    }
    annotations = {f"mlhub.dev/{key}-name": labels[key] for key in NAMED if key in labels}
    annotations |= {names.API_URL: api_url} if api_url else {}
    name = names.namespace_of(labels, prefix=options.namespace_prefix)
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {
                **names.MANAGED_BY,
                names.INSTALLATION: options.installation_id,
                names.PROJECT: name,
                **names.project_labels(labels),
                **security,
            },
            "annotations": annotations,
        },
    }


def contents(
    namespace: str,
    options: KubernetesOptions,
    *,
    api_url: str,
    max_gpus: int | None = None,
    has_claims: bool = False,
) -> list[Manifest]:
    """What every project's namespace holds before the first pod comes.

    max_gpus: None = no limit. has_claims: the cluster has dynamic resource allocation.
    """
    found: list[Manifest] = [
        _policy(namespace, DEFAULT_DENY, {}),
        _policy(namespace, ALLOWED, {"egress": [_names(), _ingest(options, api_url), *_store(options)]}, runs=False),
        _policy(namespace, SANDBOX, {"egress": [_names(), _ingest(options, api_url)]}, runs=True),
        _account(namespace),
        _limit_range(namespace),
        _quota(namespace, options, max_gpus, has_claims=has_claims),
    ]
    for claim, size in ((CHECKPOINT_CLAIM, options.checkpoint_bytes), (CACHE_CLAIM, options.cache_bytes)):
        if size:
            found.append(_claim(namespace, claim, size, options.storage_class))
    for manifest in found:
        manifest["metadata"]["labels"][names.INSTALLATION] = options.installation_id
    return found


def labels_of(namespace: Manifest) -> dict[str, str]:
    """The labels of a launch in that project, as its namespace keeps them."""
    metadata = namespace["metadata"]
    annotations, project = metadata.get("annotations") or {}, (metadata.get("labels") or {}).get(names.PROJECT_ID)
    found = {key: annotations[f"mlhub.dev/{key}-name"] for key in NAMED if f"mlhub.dev/{key}-name" in annotations}
    return {**found, "project_id": project} if project else found


def _metadata(namespace: str, name: str) -> Manifest:
    return {"name": name, "namespace": namespace, "labels": dict(names.MANAGED_BY)}


def _account(namespace: str) -> Manifest:
    """Made by us, not waited for: the default account of a new namespace comes a moment later."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(namespace, ACCOUNT),
        "automountServiceAccountToken": False,
    }


def _policy(namespace: str, name: str, rules: Manifest, *, runs: bool | None = None) -> Manifest:
    """runs: True: of the pods that run uploaded code once; False: of all others; None: of all."""
    types = ["Egress"] if "egress" in rules else ["Ingress", "Egress"]
    operator = "Exists" if runs else "DoesNotExist"
    chosen = {} if runs is None else {"matchExpressions": [{"key": names.SANDBOX_RUN, "operator": operator}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(namespace, name),
        "spec": {"podSelector": chosen, "policyTypes": types, **rules},
    }


def _names() -> Manifest:
    """The cluster's DNS, also where it listens on each node."""
    system = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    ports = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return {"to": [system, {"ipBlock": {"cidr": NODE_LOCAL_DNS}}], "ports": ports}


def _ingest(options: KubernetesOptions, api_url: str) -> Manifest:
    """The ingest API: an address range, or the web pods of MLHub's own namespace."""
    address = urlparse(options.api_url or api_url)
    cidr = options.ingest_cidr or _as_cidr(address.hostname or "")
    if cidr:
        port = address.port or (443 if address.scheme == "https" else 80)
        return {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"protocol": "TCP", "port": port}]}
    web = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": options.ingest_namespace}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/component": "web"}},
    }
    return {"to": [web], "ports": [{"protocol": "TCP", "port": "http"}]}


def _store(options: KubernetesOptions) -> list[Manifest]:
    """An object store that pods read from by signed addresses, where there is one that they may reach."""
    there: list[Manifest] = []
    if options.store_cidr:
        there.append({"ipBlock": {"cidr": options.store_cidr}})
    if options.store_namespace:
        there.append({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": options.store_namespace}}})
    return [{"to": there, "ports": [{"protocol": "TCP", "port": options.store_port}]}] if there else []


def _as_cidr(host: str) -> str:
    try:
        return str(ipaddress.ip_network(host))
    except ValueError:
        return ""


def _limit_range(namespace: str) -> Manifest:
    limit = {
        "type": "Container",
        "default": PODS_WITHOUT_LIMITS_GET,
        "defaultRequest": PODS_WITHOUT_LIMITS_GET,
    }
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": _metadata(namespace, LIMITS),
        "spec": {"limits": [limit]},
    }


def gpu_limits(options: KubernetesOptions, *, has_claims: bool = True) -> list[str]:
    """What a ResourceQuota calls GPUs: whole ones, time-sliced ones of another name, AMD's, and devices of claims."""
    named = dict.fromkeys((options.gpu_resource, f"{options.gpu_resource}.shared", AMD))
    found = [f"requests.{name}" for name in named]
    return [*found, f"{options.gpu_device_class}.deviceclass.resource.k8s.io/devices"] if has_claims else found


def _quota(namespace: str, options: KubernetesOptions, max_gpus: int | None, *, has_claims: bool) -> Manifest:
    """A backstop only: MLHub's own quota decides first. Nothing here opens a way out of the namespace."""
    hard = {"services.nodeports": "0", "services.loadbalancers": "0"}
    if max_gpus is not None:
        hard |= dict.fromkeys(gpu_limits(options, has_claims=has_claims), str(max_gpus))
    if options.project_pods:
        hard["pods"] = str(options.project_pods)
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": _metadata(namespace, LIMITS),
        "spec": {"hard": hard},
    }


def _claim(namespace: str, name: str, size_bytes: int, storage_class: str) -> Manifest:
    body: Manifest = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": str(size_bytes)}},
    }
    if storage_class:
        body["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(namespace, name),
        "spec": body,
    }
