# SPDX-License-Identifier: Apache-2.0
"""How much CPU and memory a pod gets: what the user asked for, else what the dry run measured, with a margin."""

from __future__ import annotations

from mlhub.jobs.models import Job
from mlhub.wire.launch import Resources

MIB, GIB = 2**20, 2**30
WORKER_CPUS, SERVER_CPUS = 1.0, 0.5
LEAST_WORKER_BYTES, LEAST_SERVER_BYTES = 1536 * MIB, 768 * MIB
TORCH_BYTES = 512 * MIB


def worker_resources(job: Job) -> Resources:
    """cpus and memory_gib of the job's resources; else one CPU, and twice the memory that the dry run took.

    Twice, because a real batch is larger, and gradients are exchanged in buffers.
    """
    asked, measured = job.resources, int(job.profile.get("memory_bytes") or 0)
    memory_bytes = _bytes(asked.get("memory_gib")) or max(LEAST_WORKER_BYTES, 2 * measured)
    return Resources(gpus=1, cpus=float(asked.get("cpus") or WORKER_CPUS), memory_bytes=memory_bytes)


def server_resources(job: Job) -> Resources:
    """server_memory_gib of the job's resources; else room for the weights, two moments of the optimiser, and a gradient
    of each worker, as if one server held the whole model."""
    model_bytes = int(job.profile.get("parameters_bytes") or 0)
    n_copies = 4 + min(job.max_workers, 64)
    needed = max(LEAST_SERVER_BYTES, TORCH_BYTES + n_copies * model_bytes)
    return Resources(0, SERVER_CPUS, _bytes(job.resources.get("server_memory_gib")) or needed)


def requested_servers(job: Job) -> int | None:
    """The number of parameter servers that the job asks for, where it runs on servers. None: the scheduler's choice."""
    asked = job.resources.get("n_servers")
    return None if asked is None else int(asked)


def _bytes(gib: float | None) -> int:
    return int((gib or 0.0) * GIB)
