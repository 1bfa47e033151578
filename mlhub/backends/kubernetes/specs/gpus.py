# SPDX-License-Identifier: Apache-2.0
"""How a node offers its GPUs, and how many jobs may hold one of them at once. Pure.

Three ways, in this order: devices that a driver lists (dynamic resource allocation), which jobs of a project share by
one ResourceClaim; time-sliced shares of the device plugin; whole GPUs of the device plugin, which are not shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.client.quantities import quantity
from mlhub.backends.kubernetes.options import KubernetesOptions

PRODUCT, MEMORY = "nvidia.com/gpu.product", "nvidia.com/gpu.memory"
COUNT, PARTITIONED = "nvidia.com/gpu.count", "nvidia.com/mig.strategy"
AMD = "amd.com/gpu"  # what AMD's device plugin calls a GPU; its node labeller's labels begin with it, or with beta.
AMD_PRODUCT, AMD_MEMORY = f"{AMD}.product-name", f"{AMD}.vram"
REPLICAS, STRATEGY = "nvidia.com/gpu.replicas", "nvidia.com/gpu.sharing-strategy"
MIB = 2**20


class Way(StrEnum):
    WHOLE = "whole"
    TIME_SLICED = "time-sliced"
    CLAIMED = "claimed"


@dataclass(frozen=True)
class Device:
    """A whole GPU as its driver's ResourceSlice shows it. memory_bytes: 0 = not reported."""

    name: str
    product: str
    memory_bytes: int


@dataclass(frozen=True)
class GpuOffer:
    """A node's GPUs. resource: what a container asks one of for each GPU; "" where it has claims instead.

    words: how its GPUs may be shared, for people. remark: what is wrong with it, "" = nothing.
    """

    way: Way
    n_gpus: int
    gpu_type: str
    memory_bytes: int
    max_jobs: int
    resource: str
    words: str
    remark: str = ""


def gpu_offer(node: Object, options: KubernetesOptions, devices: Sequence[Device] = ()) -> GpuOffer | None:
    """None for a node without GPUs. devices: that its driver lists, where the cluster knows claims."""
    room = node.get("status", {}).get("allocatable") or {}
    shared = f"{options.gpu_resource}.shared"
    n_offered, n_renamed = int(quantity(room.get(options.gpu_resource))), int(quantity(room.get(shared)))
    labels = node["metadata"].get("labels") or {}
    if devices:
        return _claimed(devices, options, is_offered_twice=bool(n_offered or n_renamed))
    if not n_offered and not n_renamed:
        n_amd = int(quantity(room.get(AMD)))
        return _amd(labels, n_amd) if n_amd else None
    n_shares = _whole_number(labels.get(REPLICAS, "1"))
    resource = shared if n_renamed else options.gpu_resource
    if n_shares < 2 and not n_renamed:
        words = "Each job has its GPUs alone: there are no claims for them here, and no time-slicing."
        return GpuOffer(
            Way.WHOLE,
            n_offered,
            _product(labels),
            _memory_bytes(labels),
            1,
            resource,
            words,
            _missing(labels, n_offered),
        )
    return _sliced(labels, options, n_shares=n_shares, n_offered=n_renamed or n_offered, resource=resource)


def _claimed(devices: Sequence[Device], options: KubernetesOptions, *, is_offered_twice: bool) -> GpuOffer:
    jobs = options.max_jobs_per_gpu
    return GpuOffer(
        Way.CLAIMED,
        len(devices),
        devices[0].product,
        min(device.memory_bytes for device in devices),
        jobs,
        "",
        f"Up to {jobs} jobs of one project share a GPU by a ResourceClaim." if jobs > 1 else _SHARING_IS_OFF,
        f"Its GPUs are offered twice, by the driver {options.gpu_device_class} and as {options.gpu_resource}; "
        "switch the device plugin off there, or the same GPU may be given away twice."
        if is_offered_twice
        else "",
    )


def _amd(labels: Mapping[str, str], n_offered: int) -> GpuOffer:
    """Whole GPUs of AMD's device plugin, as its node labeller describes them."""

    def label(name: str) -> str:
        return labels.get(name) or labels.get(f"beta.{name}", "")

    words = "Each job has its GPUs alone: AMD's device plugin shares none."
    memory_bytes = int(quantity(f"{label(AMD_MEMORY).removesuffix('i')}i"))  # it writes 64G for 64 GiB
    return GpuOffer(Way.WHOLE, n_offered, (label(AMD_PRODUCT) or "amd-gpu").lower(), memory_bytes, 1, AMD, words)


def _missing(labels: Mapping[str, str], n_offered: int) -> str:
    """What is to be said where GPU feature discovery counts more GPUs than the device plugin offers. Parts of GPUs
    are counted otherwise."""
    n_there = _whole_number(labels.get(COUNT, "0"))
    if n_there <= n_offered or labels.get(PARTITIONED, "none") != "none":
        return ""
    return f"It has {n_there} GPUs, and its device plugin offers {n_offered}: the others are not healthy, or kept back."


def _sliced(
    labels: Mapping[str, str], options: KubernetesOptions, *, n_shares: int, n_offered: int, resource: str
) -> GpuOffer:
    product, memory_bytes = _product(labels).removesuffix("-shared"), _memory_bytes(labels)
    if n_shares < 2:  # renamed by the device plugin, which does not say how many make a GPU
        words = f"Each share is a slot: the label {REPLICAS} is missing, which declares how many make a GPU."
        return GpuOffer(Way.WHOLE, n_offered, f"{product}-shared", 0, 1, resource, words, words)
    if labels.get(STRATEGY) == "mps":
        words = f"Each share is a slot: a fixed part, 1/{n_shares}, of a GPU (MPS)."
        return GpuOffer(
            Way.WHOLE, n_offered, f"{product}-shared-{n_shares}", memory_bytes // n_shares, 1, resource, words
        )
    n_gpus, n_left = divmod(n_offered, n_shares)
    jobs = min(options.max_jobs_per_gpu, n_shares)
    remark = f"It offers {n_offered} shares, of which {n_left} are no whole GPU of {n_shares}." if n_left else ""
    words = f"Up to {jobs} jobs share a GPU, time-sliced." if jobs > 1 else _SHARING_IS_OFF
    return GpuOffer(Way.TIME_SLICED, n_gpus, product, memory_bytes, jobs, resource, words, remark)


_SHARING_IS_OFF = "Each job has its GPUs alone: sharing is switched off (max_jobs_per_gpu is 1)."


def _product(labels: Mapping[str, str]) -> str:
    """As GPU feature discovery names it."""
    return labels.get(PRODUCT, "gpu").lower()


def _memory_bytes(labels: Mapping[str, str]) -> int:
    """Of one GPU; the label counts MiB."""
    return _whole_number(labels.get(MEMORY, "0")) * MIB


def _whole_number(text: str) -> int:
    return int(text) if text.isdigit() else 0
