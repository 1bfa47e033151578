"""How much CPU and memory a pod of a job needs: from what preflight measured, with room to spare."""

from __future__ import annotations

from mlhub.jobs.models import Job
from mlhub.wire.launch import Resources

MIB = 2**20
WORKER_CPUS, SERVER_CPUS = 1.0, 0.5
LEAST_WORKER_BYTES, LEAST_SERVER_BYTES = 1536 * MIB, 768 * MIB
TORCH_BYTES = 512 * MIB


def worker_resources(job: Job) -> Resources:
    """As asked (memory_gib); else twice what the trial took: a real batch is larger, and gradients are exchanged in
    buffers."""
    asked = _asked(job, "memory_gib")
    if asked is not None:
        return Resources(gpus=1, cpus=WORKER_CPUS, memory_bytes=int(asked * 1024 * MIB))
    measured = int(job.profile.get("memory_bytes") or 0)
    return Resources(gpus=1, cpus=WORKER_CPUS, memory_bytes=max(LEAST_WORKER_BYTES, 2 * measured))


def server_resources(job: Job) -> Resources:
    """As asked (server_memory_gib); else weights, two moments of the optimiser, and a gradient a worker; as if one
    server held everything."""
    asked = _asked(job, "server_memory_gib")
    if asked is not None:
        return Resources(0, SERVER_CPUS, int(asked * 1024 * MIB))
    model_bytes = int(job.profile.get("parameters_bytes") or 0)
    n_copies = 4 + min(job.max_workers, 64)
    return Resources(0, SERVER_CPUS, max(LEAST_SERVER_BYTES, TORCH_BYTES + n_copies * model_bytes))


def requested_servers(job: Job) -> int | None:
    """As asked (n_servers), for when the job runs on servers; None: the scheduler's choice."""
    asked = _asked(job, "n_servers")
    return None if asked is None else int(asked)


def _asked(job: Job, name: str) -> float | None:
    value = job.hyperparameters.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
