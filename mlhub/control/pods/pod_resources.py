# SPDX-License-Identifier: Apache-2.0
"""How much CPU and memory a pod gets: what the user asked for, else what the dry run measured, with a margin.

Where neither says anything, an administrator's choice counts: on Kubernetes MLHUB_KUBE_WORKER_CPUS, _SERVER_CPUS,
_WORKER_MEMORY_BYTES and _SERVER_MEMORY_BYTES. The local backend has virtual nodes, and always takes the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings

from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.jobs.models import Allocation, Job, ModeChoice
from mlhub.tenants.actions.limits.quotas import within
from mlhub.tenants.models import Organisation
from mlhub.wire.launch import Resources

MIB, GIB = 2**20, 2**30
TORCH_BYTES = 512 * MIB


def worker_resources(job: Job) -> Resources:
    """cpus and memory_gib of the job's resources; else the CPUs that the settings give to each worker, and twice the
    memory that the dry run took, at least what the settings give.

    Twice, because a real batch is larger, and gradients are exchanged in buffers.
    """
    chosen = _chosen()
    asked, measured = job.resources, int(job.profile.get("memory_bytes") or 0)
    memory_bytes = _bytes(asked.get("memory_gib")) or max(chosen.worker_memory_bytes, 2 * measured)
    return Resources(gpus=1, cpus=float(asked.get("cpus") or chosen.worker_cpus), memory_bytes=memory_bytes)


def server_resources(job: Job) -> Resources:
    """server_memory_gib of the job's resources; else room for the weights, two moments of the optimiser, and a gradient
    of each worker, as if one server held the whole model; at least what the settings give."""
    chosen = _chosen()
    model_bytes = int(job.profile.get("parameters_bytes") or 0)
    n_copies = 4 + min(job.max_workers, 64)
    needed = max(chosen.server_memory_bytes, TORCH_BYTES + n_copies * model_bytes)
    return Resources(0, chosen.server_cpus, _bytes(job.resources.get("server_memory_gib")) or needed)


def least_resources(job: Job) -> Resources:
    """What its pods request at least: min_workers, and a server where it cannot run without one."""
    return _together(job, job.min_workers, 1 if job.mode == ModeChoice.PARAMETER_SERVER else 0)


@dataclass(frozen=True)
class HeldPods:
    """What the pods of one attempt on one node request."""

    project: UUID
    node: str
    resources: Resources


def pods_held(organisation: Organisation) -> list[HeldPods]:
    """What the organisation's jobs hold now. Two queries; one where they hold nothing."""
    return held_by(within(organisation))


def held_by(jobs: Mapping[str, Any]) -> list[HeldPods]:
    """What these jobs hold now. jobs: a filter. Two queries; one where they hold nothing."""
    paths = {f"attempt__job__{path}": value for path, value in jobs.items()}
    held = Allocation.objects.filter(released_at=None, attempt__ended_at=None, **paths)
    rows = list(held.values_list("attempt__job", "node", "slots", "n_servers"))
    wanted = Job.objects.filter(pk__in={job for job, *_ in rows}) if rows else Job.objects.none()
    found = {job.pk: job for job in wanted.only("project_id", "resources", "profile", "max_workers")}
    return [
        HeldPods(found[job].project_id, node, _together(found[job], len(slots), n_servers))
        for job, node, slots, n_servers in rows
        if job in found  # else it was deleted between the queries
    ]


def _together(job: Job, n_workers: int, n_servers: int) -> Resources:
    worker, server = worker_resources(job), server_resources(job)
    return Resources(
        n_workers * worker.gpus + n_servers * server.gpus,
        n_workers * worker.cpus + n_servers * server.cpus,
        n_workers * worker.memory_bytes + n_servers * server.memory_bytes,
    )


def requested_servers(job: Job) -> int | None:
    """The number of parameter servers that the job asks for, where it runs on servers. None: the scheduler's choice."""
    asked = job.resources.get("n_servers")
    return None if asked is None else int(asked)


def requested_workers(job: Job) -> int | None:
    """What policies of fixed sizes give the job. None: it asks for none in particular."""
    asked = job.resources.get("n_workers")
    return None if asked is None else int(asked)


def gpu_types(job: Job) -> tuple[str, ...]:
    """The types of GPU that the job may run on; none: any."""
    return tuple(str(name) for name in job.resources.get("gpu_types") or ())


def _chosen() -> KubernetesOptions:
    """What the administrator chose, or the defaults. Raises ValueError that names the setting."""
    raw = settings.KUBERNETES if settings.BACKEND == "kubernetes" else {}
    return _parsed(tuple(sorted(raw.items())))


@lru_cache(maxsize=4)
def _parsed(raw: tuple[tuple[str, str], ...]) -> KubernetesOptions:
    return KubernetesOptions.from_settings(dict(raw))


def _bytes(gib: float | None) -> int:
    return int((gib or 0.0) * GIB)
