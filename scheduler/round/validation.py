# SPDX-License-Identifier: Apache-2.0
"""Refuses a snapshot that contradicts itself, in one sentence that names the job, node or rack and the field."""

from __future__ import annotations

import math
from collections import Counter

from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot
from scheduler.api.topology import NodeSnapshot


def check(snapshot: ClusterSnapshot) -> None:
    """Checks a snapshot. Raises ValueError for one that no round can work with.

    Ids and names are unique; numbers are finite and not negative; nodes are in racks that exist; links have a
    bandwidth above 0 (it may be infinite).
    """
    if not math.isfinite(snapshot.now_s):
        raise ValueError(f"the snapshot has now_s {snapshot.now_s!r}; it must be a finite number")
    _check_jobs(snapshot.jobs)
    _check_nodes(snapshot)


def _check_jobs(jobs: tuple[JobSnapshot, ...]) -> None:
    if len({job.id for job in jobs}) != len(jobs):
        twice = next(job_id for job_id, count in Counter(job.id for job in jobs).items() if count > 1)
        raise ValueError(f"job {twice!r} appears twice in the snapshot; ids must be unique")
    for job in [job for job in jobs if not job.is_sound]:
        if not 1 <= job.min_workers <= job.max_workers:
            raise ValueError(f"job {job.id!r} has min_workers {job.min_workers} and max_workers {job.max_workers}")
        if job.bad_number is not None:
            name, least = job.bad_number
            value = getattr(job, name)
            raise ValueError(f"job {job.id!r} has {name} {value!r}; it must be a finite number of at least {least:g}")
        raise ValueError(f"job {job.id!r} is {job.phase} without an allocation")


def _check_nodes(snapshot: ClusterSnapshot) -> None:
    if len({node.name for node in snapshot.nodes}) != len(snapshot.nodes):
        raise ValueError("two nodes of the snapshot have the same name; names must be unique")
    racks = {rack.name for rack in snapshot.racks}
    for rack in snapshot.racks:
        if not rack.uplink_bps > 0:
            raise ValueError(f"rack {rack.name!r} has uplink_bps {rack.uplink_bps!r}; it must be above 0")
    for node in snapshot.nodes:
        if node.rack not in racks:
            raise ValueError(f"node {node.name!r} is in rack {node.rack!r}, which the snapshot does not have; add it")
        _check_node(node)


def _check_node(node: NodeSnapshot) -> None:
    if not node.nic_bps > 0:
        raise ValueError(f"node {node.name!r} has nic_bps {node.nic_bps!r}; it must be above 0")
    for name, least in (("n_gpus", 0), ("cpus", 0), ("memory_bytes", 0), ("max_jobs_per_gpu", 1)):
        value = getattr(node, name)
        if not least <= value < math.inf:
            raise ValueError(f"node {node.name!r} has {name} {value!r}; it must be a finite number of at least {least}")
