# SPDX-License-Identifier: Apache-2.0
"""Refuses a snapshot that contradicts itself, in one sentence that names the job, node or rack and the field."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from scheduler.api.snapshot import MOST, RULES_BY_TYPE, ClusterSnapshot, JobSnapshot, SpeedObservation, TenantSnapshot
from scheduler.api.topology import NodeSnapshot

MOST_GPUS = 1 << 16  # of a node


def check(
    snapshot: ClusterSnapshot, new: Sequence[JobSnapshot] | None = None, *, is_known_cluster: bool = False
) -> None:
    """Checks a snapshot. Raises ValueError for one that no round can work with.

    new: the jobs that were not checked before; None = all. is_known_cluster: the same nodes, racks and tenants were
    checked before. Measurements and the numbers of nodes are checked before anything is worked out of them.

    Ids and names are unique; numbers are finite and not negative, those of quotas too; nodes are in racks that exist;
    uplinks have a bandwidth above 0 (it may be infinite).
    """
    if not math.isfinite(snapshot.now_s):
        raise ValueError(f"the snapshot has now_s {snapshot.now_s!r}; it must be a finite number")
    _check_ids(snapshot)
    _check_inputs(snapshot)
    check_jobs(snapshot.jobs if new is None else new)
    _check_noise_ahead(snapshot.jobs if new is None else new)
    if not is_known_cluster:
        _check_nodes(snapshot)
        for tenant in snapshot.tenants:
            _check_tenant(tenant)


def _check_ids(snapshot: ClusterSnapshot) -> None:
    if len(snapshot.by_id) != len(snapshot.jobs):
        twice = next(job_id for job_id, count in Counter(job.id for job in snapshot.jobs).items() if count > 1)
        raise ValueError(f"job {twice!r} appears twice in the snapshot; ids must be unique")


def _check_inputs(snapshot: ClusterSnapshot) -> None:
    if not 0 < snapshot.fetch_bps < math.inf:
        raise ValueError(f"the snapshot has fetch_bps {snapshot.fetch_bps!r}; it must be finite and above 0")
    if len({one.key for one in snapshot.input_sets}) != len(snapshot.input_sets):
        raise ValueError("two input sets of the snapshot have the same key; keys must be unique")
    for one in snapshot.input_sets:
        if not all(0 <= n_bytes < math.inf for n_bytes in (one.size_bytes, *(n_bytes for _, n_bytes in one.held))):
            raise ValueError(f"the input set {one.key!r} has bytes that are not finite or below 0")


def check_jobs(jobs: Sequence[JobSnapshot]) -> None:
    """Checks the numbers of jobs. Raises ValueError for one that no round can work with."""
    for job in [job for job in jobs if not job.is_sound]:
        if not 1 <= job.min_workers <= job.max_workers:
            raise ValueError(f"job {job.id!r} has min_workers {job.min_workers} and max_workers {job.max_workers}")
        if job.bad_number is not None:
            raise ValueError(f"job {job.id!r} has {job.bad_number}")
        raise ValueError(f"job {job.id!r} is {job.phase} without an allocation")


def _check_noise_ahead(jobs: Sequence[JobSnapshot]) -> None:
    for job in [job for job in jobs if job.noise_ahead]:
        if not all(0 <= noise <= MOST for _, noise in job.noise_ahead):
            raise ValueError(f"job {job.id!r} has noise_ahead {job.noise_ahead!r}; all must be finite and at least 0")


def check_measurements(jobs: Sequence[JobSnapshot]) -> None:
    """Checks what was measured of jobs. Raises ValueError for numbers that are not finite or too small.

    Jobs of a family mostly carry the very same measurements, which are looked at once.
    """
    seen: dict[str, tuple[SpeedObservation, ...]] = {}
    for job in [job for job in jobs if job.observations]:
        if seen.get(job.family) is job.observations:
            continue
        seen[job.family] = job.observations
        bad = next((o for o in job.observations if o.bad_number is not None), None)
        if bad is not None and bad.bad_number is not None:
            raise ValueError(f"a measurement of job {job.id!r} has {bad.bad_number}")


def _check_tenant(tenant: TenantSnapshot) -> None:
    for name in (
        "max_gpus", "max_running_jobs", "max_cpus", "max_memory_bytes", "guarantee", "borrow_limit", "lend_limit",
        "weight", "half_life_s",
    ):  # fmt: skip
        value = getattr(tenant, name)
        if value is not None and not 0 <= value < math.inf:
            raise ValueError(f"tenant {tenant.id!r} has {name} {value!r}; it must be a finite number of at least 0")
    by_type = [(rule, *pair) for rule in RULES_BY_TYPE for pair in getattr(tenant, rule)]
    for name, gpu_type, most in by_type:
        if not 0 <= most < math.inf:
            whose = f"tenant {tenant.id!r} has {name} {gpu_type!r}"
            raise ValueError(f"{whose} {most!r}; it must be a finite number of at least 0")
    users = [limit.user for limit in tenant.user_limits]
    if len(set(users)) != len(users):
        raise ValueError(f"tenant {tenant.id!r} limits a user twice; give each user once")
    for limit in tenant.user_limits:
        for name, value in (
            ("max_gpus", limit.max_gpus),
            ("max_running_jobs", limit.max_running_jobs),
            ("max_cpus", limit.max_cpus),
            ("max_memory_bytes", limit.max_memory_bytes),
            *limit.gpus_by_type,
        ):
            if value is not None and not 0 <= value < math.inf:
                whose = f"the limit of user {limit.user!r} in tenant {tenant.id!r}"
                raise ValueError(f"{whose} has {name} {value!r}; it must be a finite number of at least 0")
    for budget in (*tenant.budgets, *(budget for limit in tenant.user_limits for budget in limit.budgets)):
        for name in ("gpu_hours", "used_gpu_hours"):
            value = getattr(budget, name)
            if not 0 <= value < math.inf:
                raise ValueError(
                    f"a budget of tenant {tenant.id!r} has {name} {value!r}; it must be a finite number of at least 0"
                )


def _check_nodes(snapshot: ClusterSnapshot) -> None:
    if len({node.name for node in snapshot.nodes}) != len(snapshot.nodes):
        raise ValueError("two nodes of the snapshot have the same name; names must be unique")
    racks = {rack.name for rack in snapshot.racks}
    if len(racks) != len(snapshot.racks):
        twice = next(name for name, n in Counter(rack.name for rack in snapshot.racks).items() if n > 1)
        raise ValueError(f"rack {twice!r} appears twice in the snapshot; names must be unique")
    for rack in snapshot.racks:
        if not rack.uplink_bps > 0:
            raise ValueError(f"rack {rack.name!r} has uplink_bps {rack.uplink_bps!r}; it must be above 0")
    for node in snapshot.nodes:
        if node.rack not in racks:
            raise ValueError(f"node {node.name!r} is in rack {node.rack!r}, which the snapshot does not have; add it")


def check_nodes(nodes: Sequence[NodeSnapshot]) -> None:
    """Checks the numbers of nodes. Raises ValueError for one that no round can work with."""
    for node in nodes:
        _check_node(node)


def _check_node(node: NodeSnapshot) -> None:
    if not node.nic_bps > 0:
        raise ValueError(f"node {node.name!r} has nic_bps {node.nic_bps!r}; it must be above 0")
    for name, least, most in (
        ("n_gpus", 0, MOST_GPUS),
        ("cpus", 0, MOST),
        ("memory_bytes", 0, MOST),
        ("max_jobs_per_gpu", 1, MOST),
        ("gpu_memory_bytes", 0, MOST),
    ):
        value = getattr(node, name)
        if most < value < math.inf:
            raise ValueError(f"node {node.name!r} has {name} {value!r}; it must be at most {most:g}")
        if not least <= value < math.inf:
            raise ValueError(f"node {node.name!r} has {name} {value!r}; it must be a finite number of at least {least}")
