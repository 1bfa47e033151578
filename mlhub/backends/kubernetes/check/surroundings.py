# SPDX-License-Identifier: Apache-2.0
"""What a cluster offers beyond pods: version, GPUs, storage, sharing of GPUs, network policies, Pod Security."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlhub.backends.kubernetes.check.report import CheckReport
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, ForbiddenError
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs.claims import GROUP, best_version
from mlhub.backends.kubernetes.status.nodes import CPU_SLOT
from mlhub.backends.protocol import NodeStatus
from mlhub.wire.words import counted

OLDEST = (1, 30)  # pods' scheduling gates are stable from here on
ENFORCERS = ("calico", "cilium", "antrea", "kube-router", "weave", "ovn", "kube-network-policies", "aws-node")


def look_at_version(api: KubernetesApi, report: CheckReport) -> None:
    """Raises BackendUnavailableError when the API server does not answer."""
    found = api.get("/version")
    numbers = [int(re.sub(r"\D", "", str(found.get(part, "0"))) or 0) for part in ("major", "minor")]
    summary = f"Kubernetes {found.get('gitVersion', '?')}"
    if tuple(numbers) < OLDEST:
        report.failed(f"{summary} is too old; MLHub needs {OLDEST[0]}.{OLDEST[1]} for gated pods.")
    else:
        report.ok(f"{summary} answers.")


def look_at_nodes(nodes: Sequence[NodeStatus], options: KubernetesOptions, report: CheckReport) -> None:
    usable = [n for n in nodes if n.is_ready and n.is_schedulable]
    if not usable:
        report.missing(
            f"No node takes pods ({len(nodes)} known): no kubelet is behind this API server, or all are away."
        )
    for node in nodes:
        if node.message:
            report.missing(f"Node {node.name}: {node.message}")
    gpus = [n for n in usable if n.gpu_type != CPU_SLOT]
    if gpus:
        kinds = sorted({n.gpu_type for n in gpus})
        n_gpus = sum(n.n_slots for n in gpus)
        report.ok(f"{counted(n_gpus, 'GPU')} on {counted(len(gpus), 'node')}: {', '.join(kinds)}.")
    elif usable:
        slots = sum(n.n_slots for n in usable)
        report.missing(
            f"No node offers {options.gpu_resource}: install the GPU device plugin where there are GPUs. "
            f"Without it MLHub trains on CPUs ({slots} slots on {len(usable)} nodes)."
        )
    if any(n.gpu_type == "gpu" for n in gpus):
        report.missing("GPUs have no product label: install GPU feature discovery, or all count as one type.")
    if usable and {n.rack for n in usable} == {"default"}:
        report.missing("No node has a label for its rack or zone: MLHub takes them all to be in one rack.")


def look_at_storage(api: KubernetesApi, options: KubernetesOptions, report: CheckReport) -> None:
    try:
        classes, _ = api.list("/apis/storage.k8s.io/v1/storageclasses")
    except ApiError as error:
        report.missing(f"Storage classes cannot be listed: {error}")
        return
    found = [c["metadata"]["name"] for c in classes]
    if options.storage_class and options.storage_class not in found:
        report.failed(f"There is no storage class {options.storage_class}; known: {', '.join(found) or 'none'}.")
    elif not found:
        report.missing(
            "There is no storage class: a checkpoint then dies with its pod, and a preempted job begins anew."
        )
    else:
        report.ok(f"Storage classes: {', '.join(found)}. Checkpoints need one that is ReadWriteMany.")


def look_at_sharing(
    api: KubernetesApi, nodes: Sequence[NodeStatus], options: KubernetesOptions, report: CheckReport
) -> None:
    """Which way two jobs could hold one GPU here, and what is missing where there is none."""
    wanted = options.gpu_device_class
    try:
        version = best_version(v["version"] for v in api.get(GROUP).get("versions", []))
        classes = [c["metadata"]["name"] for c in api.list(f"{GROUP}/{version}/deviceclasses")[0]] if version else []
    except ApiError:
        version, classes = "", []
    if not version:
        report.missing("No dynamic resource allocation: GPUs can be shared by the device plugin's time-slicing only.")
    elif wanted not in classes:
        report.missing(
            f"Dynamic resource allocation is there ({version}), but no DeviceClass {wanted}; known: "
            f"{', '.join(classes) or 'none'}. Install the GPU vendor's DRA driver, or set gpu_device_class."
        )
    else:
        claimed = sum(n.shares_within_project for n in nodes)
        report.ok(f"Dynamic resource allocation ({version}) has {wanted}, with GPUs on {counted(claimed, 'node')}.")
    gpus = [n for n in nodes if n.gpu_type != CPU_SLOT]
    for words in sorted({n.sharing for n in gpus}):
        names = [n.name for n in gpus if n.sharing == words]
        some = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
        summary = f"GPUs of {counted(len(names), 'node')} ({some}): {words}"
        is_shared = any(n.max_jobs_per_gpu > 1 for n in gpus if n.sharing == words)
        (report.ok if is_shared else report.missing)(summary)


def look_at_network(api: KubernetesApi, report: CheckReport) -> None:
    """Whether policies are obeyed cannot be seen in the API; only who is known to obey them."""
    try:
        found, _ = api.list("/apis/apps/v1/daemonsets")
    except ApiError:
        found = []
    known = sorted({e for e in ENFORCERS for d in found if e in d["metadata"]["name"]})
    if known:
        report.ok(f"Network policies: {', '.join(known)} is installed, which obeys them.")
    else:
        report.missing("No network plugin that is known to obey NetworkPolicy was found: gangs may not be isolated.")


def look_at_pod_security(api: KubernetesApi, namespace: str, report: CheckReport) -> None:
    """Asks for a pod that `restricted` forbids, as a dry run."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mlhub-check-privileged"},
        "spec": {"containers": [{"name": "x", "image": "x", "securityContext": {"privileged": True}}]},
    }
    try:
        api.create(f"/api/v1/namespaces/{namespace}/pods", pod, dryRun="All")
    except ForbiddenError as error:
        if error.is_policy:
            report.ok("Pod Security `restricted` is enforced in projects' namespaces.")
        else:
            report.missing(f"Pod Security could not be tried: {error}")
    else:
        report.missing("Pod Security is not enforced: a privileged pod would be accepted in a project's namespace.")
