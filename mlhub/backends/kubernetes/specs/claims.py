# SPDX-License-Identifier: Apache-2.0
"""ResourceClaims and ResourceSlices of dynamic resource allocation, in each version of the API that is spoken. Pure.

A claim stands for one slot of one node within one project: it is owned by every gang that has a worker there, so that
several jobs hold one GPU, and it goes once the last of them has gone. Which GPU it is, the cluster's scheduler decides
with the first pod; all later ones get the same.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.client.quantities import quantity
from mlhub.backends.kubernetes.names import GangNames
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.quarantine import DAMAGES
from mlhub.backends.kubernetes.specs.gpus import Device

logger = logging.getLogger(__name__)

GROUP = "/apis/resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")  # the best first: stable since 1.34
REQUEST = "gpu"


def best_version(served: Iterable[str]) -> str:
    """The one to speak with a server; "" when it serves none that is known here."""
    known = set(served)
    return next((version for version in VERSIONS if version in known), "")


def slot_key(node: str, slot: int) -> str:
    """A label's value for a slot of a node, whose name may be longer than a label can be."""
    return f"{hashlib.sha256(node.encode()).hexdigest()[:16]}-{slot}"


def claim_name(gang: GangNames, node: str, slot: int) -> str:
    return f"{gang.name}-{slot_key(node, slot)}"


def claim(owner: Object, gang: GangNames, node: str, slot: int, options: KubernetesOptions, *, version: str) -> Object:
    """One GPU, for the pods of a slot. owner: the record of the first gang there."""
    exactly = {"deviceClassName": options.gpu_device_class, "allocationMode": "ExactCount", "count": 1}
    request = {"name": REQUEST, **exactly} if version == "v1beta1" else {"name": REQUEST, "exactly": exactly}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {
            "name": claim_name(gang, node, slot),
            "namespace": gang.namespace,
            "labels": {**names.MANAGED_BY, names.INSTALLATION: gang.installation, names.SLOT: slot_key(node, slot)},
            "annotations": {names.NODE: node},
            "ownerReferences": [reference(owner)],
        },
        "spec": {"devices": {"requests": [request]}},
    }


def reference(owner: Object) -> Object:
    """For ownerReferences: with the last owner the cluster's garbage collector removes what is owned."""
    metadata = owner["metadata"]
    return {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}


def owners_of(found: Object) -> list[Object]:
    return list(found["metadata"].get("ownerReferences") or [])


def is_of(found: Object, options: KubernetesOptions) -> bool:
    """Whether a claim with a slot's label was made by this installation, and not by somebody who copied the label."""
    metadata = found["metadata"]
    labels = metadata.get("labels") or {}
    gang_and_slot = metadata["name"].removesuffix(f"-{labels.get(names.SLOT)}")
    return (
        labels.get(names.INSTALLATION, options.installation_id) == options.installation_id
        and labels.get("app.kubernetes.io/managed-by") == "mlhub"
        and gang_and_slot != metadata["name"]
        and bool(owners_of(found))
    )


def is_joinable(found: Object) -> bool:
    return not found["metadata"].get("deletionTimestamp")


def is_readable(found: Object, driver: str) -> bool:
    """Whether a slice is as drivers write them. One that is not costs its own GPUs only."""
    try:
        devices_by_node([found], driver)
    except DAMAGES as error:
        logger.warning("kubernetes.unreadable_slice", extra={"item": found["metadata"].get("name"), "error": error})
        return False
    return True


def devices_by_node(slices: Iterable[Object], driver: str) -> dict[str, list[Device]]:
    """Whole GPUs of that driver, by node. Of a pool that was published anew only the newest generation counts."""
    ours = [s for s in slices if s["spec"].get("driver") == driver and s["spec"].get("nodeName")]
    newest: dict[str, int] = {}
    for found in ours:
        pool = found["spec"]["pool"]
        newest[pool["name"]] = max(newest.get(pool["name"], 0), int(pool.get("generation") or 0))
    devices: dict[str, list[Device]] = {}
    for found in ours:
        spec = found["spec"]
        if int(spec["pool"].get("generation") or 0) == newest[spec["pool"]["name"]]:
            whole = [_device(raw) for raw in spec.get("devices") or [] if _is_whole(raw)]
            devices.setdefault(spec["nodeName"], []).extend(whole)
    return devices


def _is_whole(raw: Object) -> bool:
    """No partition of a GPU, and none that its driver has shut."""
    body = raw.get("basic") or raw
    is_shut = any(t.get("effect") in ("NoSchedule", "NoExecute") for t in body.get("taints") or [])
    return not is_shut and _attribute(body, "type") in ("", "gpu")


def _device(raw: Object) -> Device:
    """v1beta1 has the fields of a device one level deeper."""
    body = raw.get("basic") or raw
    product = _attribute(body, "productName") or "gpu"
    memory = (body.get("capacity") or {}).get("memory") or {}
    return Device(raw["name"], product.lower().replace(" ", "-"), int(quantity(memory.get("value"))))


def _attribute(body: Object, name: str) -> str:
    """Attributes may be written with their driver's name before theirs."""
    attributes = body.get("attributes") or {}
    found: Object = next((value for key, value in attributes.items() if key.rpartition("/")[2] == name), {})
    return str(found.get("string", ""))
