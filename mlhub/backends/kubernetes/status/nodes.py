# SPDX-License-Identifier: Apache-2.0
"""From Node objects to the inventory: what a node has, what other people's pods leave of it, and what ails it. Pure."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.client.quantities import bits, quantity
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.quarantine import DAMAGES
from mlhub.backends.kubernetes.specs.gpus import AMD, PRODUCT, Device, GpuOffer, Way, gpu_offer
from mlhub.backends.kubernetes.status.problems import condition, when
from mlhub.backends.protocol import NodeStatus

CPU_SLOT = "cpu-slot"  # the type of a slot on a node without GPUs
RACK_LABELS = ("mlhub.dev/rack", "topology.kubernetes.io/rack", "topology.kubernetes.io/zone")
NIC, UPLINK = "mlhub.dev/nic", "mlhub.dev/rack-uplink"
_SHOWN_LABELS = re.compile(
    r"^(nvidia\.com/gpu\.|(beta\.)?amd\.com/gpu\.|topology\.kubernetes\.io/|node\.kubernetes\.io/instance-type|mlhub\.dev/)"
)


def node_status(
    node: Object,
    options: KubernetesOptions,
    *,
    taken: tuple[float, float] = (0.0, 0.0),
    devices: Sequence[Device] = (),
) -> NodeStatus:
    """taken: CPUs and bytes that pods of others ask for on this node. devices: GPUs that its driver lists."""
    metadata, spec = node["metadata"], node.get("spec", {})
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    room = node.get("status", {}).get("allocatable") or {}
    all_cpus = quantity(room.get("cpu"))
    offer = gpu_offer(node, options, devices)
    remarks: list[str] = []
    ready = condition(node, "Ready")
    is_ready = ready.get("status") == "True"
    if not is_ready:
        remarks.append(f"NotReady: {ready.get('message') or ready.get('reason') or 'the kubelet has not reported'}")
    is_open = not spec.get("unschedulable", False)
    if not is_open:
        remarks.append("It is cordoned.")
    for taint in _shutting(spec, options):
        is_open = False
        remarks.append(f"It has the taint {taint['key']}={taint.get('value', '')}:{taint['effect']}.")
    if offer is not None and offer.remark:
        remarks.append(offer.remark)
    if offer is None and labels.get(PRODUCT):
        remarks.append(
            f"Its label says {labels[PRODUCT]}, but it offers no {options.gpu_resource}: see the device plugin."
        )
    bandwidths: dict[str, float] = {}
    for key, default in ((NIC, options.nic_bps), (UPLINK, options.rack_uplink_bps)):
        bandwidths[key] = default
        if key in annotations:
            bandwidths[key] = bits(annotations[key]) or default
            if not bits(annotations[key]):
                remarks.append(f"Its annotation {key} is {annotations[key]!r}; write it like 25Gbit.")
    return NodeStatus(
        name=metadata["name"],
        rack=next((labels[key] for key in RACK_LABELS if labels.get(key)), "default"),
        gpu_type=offer.gpu_type if offer else CPU_SLOT,
        # not by what is free: slots keep their numbers
        n_slots=offer.n_gpus if offer else options.cpu_slots or int(all_cpus),
        cpus=max(0.0, all_cpus - taken[0]),
        memory_bytes=max(0, int(quantity(room.get("memory")) - taken[1])),
        nic_bps=bandwidths[NIC],
        rack_uplink_bps=bandwidths[UPLINK],
        is_ready=is_ready,
        is_schedulable=is_open,
        message=" ".join(remarks),
        **_sharing(offer),
        labels={key: value for key, value in labels.items() if _SHOWN_LABELS.match(key)},
    )


def _sharing(offer: GpuOffer | None) -> dict[str, Any]:
    if offer is None:
        return {}
    return {
        "max_jobs_per_gpu": offer.max_jobs,
        "gpu_memory_bytes": offer.memory_bytes,
        "shares_within_project": offer.way is Way.CLAIMED,
        "sharing": offer.words,
    }


def lost(node: Object | None, name: str, *, now: datetime, after_s: float) -> str | None:
    """Why pods on that node are gone for good; None while they may live."""
    if node is None:
        return f"Node {name} was removed from the cluster."
    ready = condition(node, "Ready")
    since = when(ready.get("lastTransitionTime"))
    if ready.get("status") == "True" or since is None or (now - since).total_seconds() < after_s:
        return None
    return (
        f"Node {name} has not been ready since {since:%H:%M:%S} UTC: {ready.get('message') or ready.get('reason', '')}"
    )


def requests_by_node(pods: Iterable[Object]) -> dict[str, tuple[float, float]]:
    """CPUs and bytes that live pods ask for, by node. A pod that cannot be read counts as nothing."""
    found: dict[str, tuple[float, float]] = {}
    for pod in pods:
        with contextlib.suppress(*DAMAGES):
            node = pod["spec"].get("nodeName")
            if not node or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            cpus, memory = (_requested(pod["spec"], resource) for resource in ("cpu", "memory"))
            before = found.get(node, (0.0, 0.0))
            found[node] = (before[0] + cpus, before[1] + memory)
    return found


def _requested(spec: Object, resource: str) -> float:
    """Init containers run one by one: the largest counts."""
    return max(
        sum(_request(c, resource) for c in spec["containers"]),
        max((_request(c, resource) for c in spec.get("initContainers") or []), default=0.0),
    )


def _request(container: Object, resource: str) -> float:
    return quantity((container.get("resources", {}).get("requests") or {}).get(resource))


def _shutting(spec: Object, options: KubernetesOptions) -> list[Object]:
    """Taints that keep our pods away; cordon and sickness show by themselves and are not reported twice."""
    own = {options.gpu_resource, AMD, "node.kubernetes.io/unschedulable"}
    sick = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    return [
        t
        for t in spec.get("taints") or []
        if t.get("effect") in ("NoSchedule", "NoExecute") and t["key"] not in own and t["key"] not in sick
    ]
