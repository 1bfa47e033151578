# SPDX-License-Identifier: Apache-2.0
"""The cluster's shape: nodes, their racks, the links between them, and what nodes' caches hold. Bandwidths in bit/s,
memory in bytes."""

from __future__ import annotations

from dataclasses import dataclass

FETCH_BPS = 8e8  # at which pods fetch their inputs, before that was measured


@dataclass(frozen=True)
class RackSnapshot:
    """A switch and the link that joins it to the rest of the cluster."""

    name: str
    uplink_bps: float


@dataclass(frozen=True)
class NodeSnapshot:
    """A machine. GPUs of a node are alike and numbered from 0; a node that is not schedulable keeps what runs on it.

    max_jobs_per_gpu: so many jobs may hold the same GPU at once; 1 = none is shared. gpu_memory_bytes: of one GPU; 0 =
    not known, then only measurements tell which jobs can be co-located. unusable_gpus: no job may start on these.
    """

    name: str
    rack: str
    gpu_type: str
    n_gpus: int
    cpus: float
    memory_bytes: int
    nic_bps: float
    is_schedulable: bool = True
    max_jobs_per_gpu: int = 1
    gpu_memory_bytes: int = 0
    unusable_gpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class InputSet:
    """The files that some jobs read: data, code, weights and packages. Jobs name it by its key.

    held: of its bytes, how many the cache of a node holds, for nodes that hold some.
    """

    key: str
    size_bytes: int
    held: tuple[tuple[str, int], ...] = ()
