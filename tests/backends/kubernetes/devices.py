# SPDX-License-Identifier: Apache-2.0
"""What a cluster's scheduler, controllers and kubelets do for GPUs: claims allocated and freed, shares counted."""

from __future__ import annotations

from typing import Any

from mlhub.backends.kubernetes.client.quantities import quantity
from tests.backends.kubernetes.store import Object, RefusedError, Store

PROTECTION = "resource.kubernetes.io/delete-protection"
DRIVER = "gpu.nvidia.com"


def resource_slice(node: str, *, gpus: int = 4, version: str = "v1", generation: int = 1, **more: Any) -> Object:
    """As a driver publishes it for a node. more: attributes of each of its devices."""
    attributes = {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA H100 80GB HBM3"}, **more}
    body = {"attributes": attributes, "capacity": {"memory": {"value": "81559Mi"}}}
    devices = [
        {"name": f"gpu-{i}", "basic": body} if version == "v1beta1" else {"name": f"gpu-{i}", **body}
        for i in range(gpus)
    ]
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{DRIVER}-{generation}"},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }


class Devices:
    """Of one fake cluster; its store's lock is held by the caller."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def why_not(self, pod: Object, node: str) -> str:
        """What the scheduler reports of a pod whose GPUs are not free there; "" = they are, and are the pod's now."""
        for resource, n_wanted in _requests(pod).items():
            room = self.store.get("nodes", "", node)["status"]["allocatable"]
            if n_wanted > quantity(room.get(resource)) - self._n_held(resource, node):
                return f"0/2 nodes are available: 1 Insufficient {resource}."
        wanted = [self._claim(pod, entry["resourceClaimName"]) for entry in pod["spec"].get("resourceClaims") or []]
        for found in wanted:
            if found is None:
                return "0/2 nodes are available: waiting for resource claim to be created."
            if not self._allocate(found, node):
                return "0/2 nodes are available: 1 cannot allocate all claims."
        for found in wanted:
            assert found is not None
            self._reserve(found["metadata"], pod)
        return ""

    def settle(self) -> None:
        """What pods that ended reserved is free; a claim that no pod reserves is not allocated any more."""
        for key in [k for k in self.store.objects if k[0] == "resourceclaims"]:
            found = self.store.objects[key]
            reserved = found.get("status", {}).get("reservedFor") or []
            left = [r for r in reserved if self._is_live(key[1], r)]
            if left != reserved:
                status: Object = {"reservedFor": left} if left else {"reservedFor": None, "allocation": None}
                change: Object = {"status": status}
                if not left:
                    change["metadata"] = {"finalizers": None}
                self.store.patch(*key, change)

    def holders(self) -> dict[str, set[str]]:
        """Names of pods by the GPU that they hold, as node/device."""
        found: dict[str, set[str]] = {}
        for (plural, _, _), claim in self.store.objects.items():
            status = claim.get("status") or {}
            if plural == "resourceclaims" and status.get("allocation"):
                device = status["allocation"]["devices"]["results"][0]
                names = {r["name"] for r in status.get("reservedFor") or []}
                found.setdefault(f"{device['pool']}/{device['device']}", set()).update(names)
        return found

    def _claim(self, pod: Object, name: str) -> Object | None:
        return self.store.objects.get(("resourceclaims", pod["metadata"]["namespace"], name))

    def _allocate(self, claim: Object, node: str) -> bool:
        metadata, allocation = claim["metadata"], (claim.get("status") or {}).get("allocation")
        if metadata.get("deletionTimestamp"):
            return False
        if allocation is not None:
            return bool(allocation["devices"]["results"][0]["pool"] == node)
        slices = [o for (p, _, _), o in self.store.objects.items() if p == "resourceslices"]
        devices = [d["name"] for s in slices if s["spec"]["nodeName"] == node for d in s["spec"]["devices"]]
        free = [name for name in devices if f"{node}/{name}" not in self.holders()]
        if not free:
            return False
        result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": free[0]}
        self.store.patch(
            "resourceclaims",
            metadata["namespace"],
            metadata["name"],
            {
                "metadata": {"finalizers": [PROTECTION]},
                "status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": []},
            },
        )
        return True

    def _reserve(self, metadata: Object, pod: Object) -> None:
        key = ("resourceclaims", metadata["namespace"], metadata["name"])
        reserved = self.store.objects[key]["status"].get("reservedFor") or []
        mine = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        self.store.patch(*key, {"status": {"reservedFor": [*reserved, mine]}})

    def _is_live(self, namespace: str, reserved: Object) -> bool:
        try:
            pod = self.store.get("pods", namespace, reserved["name"])
        except RefusedError:
            return False
        is_same = pod["metadata"]["uid"] == reserved["uid"]
        return is_same and pod["status"]["phase"] not in ("Succeeded", "Failed")

    def _n_held(self, resource: str, node: str) -> float:
        return sum(
            _requests(pod).get(resource, 0.0)
            for (plural, _, _), pod in self.store.objects.items()
            if plural == "pods"
            and pod["spec"].get("nodeName") == node
            and pod["status"]["phase"] not in ("Succeeded", "Failed")
        )


def _requests(pod: Object) -> dict[str, float]:
    """What a pod asks a node for: CPUs, bytes of memory and of disk, devices of plugins."""
    found: dict[str, float] = {}
    for container in pod["spec"]["containers"]:
        asked = container.get("resources", {})
        for name, amount in {**(asked.get("limits") or {}), **(asked.get("requests") or {})}.items():
            found[name] = found.get(name, 0.0) + quantity(amount)
    return found
