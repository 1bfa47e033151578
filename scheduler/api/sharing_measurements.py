# SPDX-License-Identifier: Apache-2.0
"""What was measured of jobs that may share: what a step needs alone, and how fast two gangs ran side by side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Profile:
    """Holds what a step of a job needs, measured with the job alone on its GPUs; None means not measured.

    cpu_io_s, gpu_s, network_s: seconds per step of its stages. gpu_utilisation, memory_bandwidth: shares of what there
    is, 0 to 1. gpu_memory_bytes: the most that it holds on one GPU.
    """

    cpu_io_s: float | None = None
    gpu_s: float | None = None
    network_s: float | None = None
    gpu_utilisation: float | None = None
    memory_bandwidth: float | None = None
    gpu_memory_bytes: int | None = None


class PairResource(StrEnum):
    """Names what two gangs have in common, the tightest first."""

    GPU = "gpu"
    NIC = "nic"
    NODE = "node"  # its CPUs, memory bandwidth and disk
    UPLINK = "uplink"


@dataclass(frozen=True)
class PairObservation:
    """Holds how fast jobs of two families ran with a resource in common, each relative to itself alone, as measured.

    gpu_type: "" = measured on several types. n: measurements behind the means.
    """

    family_a: str
    family_b: str
    norm_a: float
    norm_b: float
    resource: PairResource = PairResource.GPU
    gpu_type: str = ""
    n: int = 1
